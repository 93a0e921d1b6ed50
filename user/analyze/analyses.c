/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which analysis gets which events. */
#include "analyze/analyses.h"

const enum analysis analyses_of_report[] = {
#define IN_REPORT(name) ANALYZE_##name,
#define IN_ASKED(name)
#define ANALYSIS(name, table, of_use) IN_##table(name)
	ANALYSIS_ROWS(ANALYSIS)
#undef ANALYSIS
		ANALYZE_END,
};

/* ---- the hooks of each ------------------------------------------------------------------------------------------- */

/* What hooks get that is not an event. */
struct begin_event {
	const struct model *first;
	const struct steps *steps;
	const struct analyze_options *options;
};

struct part_event {
	const struct model *part;
};

struct finish_event {
	struct lines *lines;
};

#define range_end_event range_event

/* A gap is for the causes of collectives, and for the caller. */
static void take_gap(void *context, uint32_t device, const struct idle_part *parts, size_t count)
{
	struct analyses *all = context;

	if (all->has[ANALYZE_COLLECTIVE_KERNELS])
		collective_causes_take(&all->collective_causes, device, parts, count);
	if (all->take_gap)
		all->take_gap(all->gap_context, device, parts, count);
}

/* Kernels of collectives have causes where there is an account of idle time, which is finished by now. */
static void finish_collective_kernels(struct analyses *all, struct lines *lines)
{
	kernel_collector_finish(all->kernel_collector, all->model, lines, &all->collective_kernels);
	if (all->has[ANALYZE_IDLE])
		collective_causes_apply(&all->collective_causes, &all->idle, lines, &all->collective_kernels);
}

static void begin_idle(struct analyses *all, const struct begin_event *event)
{
	if (!all->has[ANALYZE_IDLE])
		return;
	idle_init(&all->idle, event->first, &all->window, event->steps,
		  all->has[ANALYZE_PER_STEP] ? &all->blocks : NULL);
	if (all->has[ANALYZE_COLLECTIVE_KERNELS] || all->take_gap)
		all->idle.take_gap = take_gap;
	all->idle.take_context = all;
	idle_steps_init(&all->idle.steps, all->has[ANALYZE_STEPS] && event->steps ? &all->steps : NULL);
}

static void add_idle_gpu(struct analyses *all, const struct gpu_event *event)
{
	idle_add_gpu(&all->idle, event);
	if (all->has[ANALYZE_WHY])
		why_add_shared_gpu(&all->why, event);
}

static void begin_why(struct analyses *all, const struct begin_event *event)
{
	if (all->has[ANALYZE_WHY])
		why_init(&all->why, event->first, &all->window, &all->idle, all->comm_names);
}

static void free_why(struct analyses *all)
{
	if (all->has[ANALYZE_WHY])
		why_free(&all->why);
}

/* Defines all hooks of all analyses. */
#define ALL_DOES(name, ...) ANALYSIS_##name(DOES)

#define DOES(name, hook, what)                                                                                         \
	static void name##_##hook(struct analyses *all, const void *of)                                                \
	{                                                                                                              \
		const struct hook##_event *event __attribute__((unused)) = of;                                         \
                                                                                                                       \
		what;                                                                                                  \
	}
ANALYSIS_ROWS(ALL_DOES)
#undef DOES

static analysis_hook *const does[HOOK_COUNT][ANALYZE_COUNT] = {
#define DOES(name, hook, what) [HOOK_##hook][ANALYZE_##name] = name##_##hook,
	ANALYSIS_ROWS(ALL_DOES)
#undef DOES
};

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* Runs a hook of all analyses. */
static void by_all(struct analyses *all, enum hook hook, const void *event)
{
	for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
		if (does[hook][which])
			does[hook][which](all, event);
}

/* Runs a hook of those that were asked for. */
static void by_wanted(struct analyses *all, enum hook hook, const void *event)
{
	for (analysis_hook *const *next = all->hooks[hook]; *next; next++)
		(*next)(all, event);
}

/* Around a slice only the account of idle time gets events, and in the slice no more of them. */
static bool gets_event(const struct analyses *all, enum hook hook, enum analysis which)
{
	if (hook == HOOK_finish || (!all->in_around && !all->idle_is_fed))
		return true;
	return (which == ANALYZE_IDLE) == all->in_around;
}

static void find_hooks(struct analyses *all)
{
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++) {
		size_t count = 0;

		for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
			if (all->has[which] && does[hook][which] && gets_event(all, hook, which))
				all->hooks[hook][count++] = does[hook][which];
		all->hooks[hook][count] = NULL;
	}
}

/* The time of all parts; UINT64_MAX: the trace has no end of its own. */
static struct window window_of(const struct model *first)
{
	return (struct window){.start_ns = first->start_ns,
			       .end_ns = first->end_ns > first->start_ns ? first->end_ns : UINT64_MAX};
}

void analyses_begin(struct analyses *all, const struct model *first, const struct steps *steps,
		    const enum analysis *which, const struct analyze_options *options)
{
	bool in_blocks;

	*all = (struct analyses){.window = window_of(first)};
	for (; *which; which++)
		all->has[*which] = true;
	/* both are made of idle.h's account */
	all->has[ANALYZE_IDLE] |= all->has[ANALYZE_WHY] || all->has[ANALYZE_LINE_COSTS];
	find_hooks(all);
	if (options->attribution)
		all->attribution = *options->attribution;
	all->last_ns = first->start_ns;
	all->if_of_use = options->if_of_use;
	all->each_gpu = options->each_gpu;
	all->each_context = options->each_context;
	all->take_gap = options->take_gap;
	all->gap_context = options->gap_context;
	all->comm_names = options->comm_names;
	callers_init(&all->callers, first);
	in_blocks = all->has[ANALYZE_PER_STEP] || all->has[ANALYZE_TORCH_MEMORY];
	step_blocks_init(&all->blocks, in_blocks ? steps : NULL, first);
	by_all(all, HOOK_begin, &(struct begin_event){.first = first, .steps = steps, .options = options});
}

/* One operation, even of a later part, shows that there are some; that there are none is known with the last part. */
static void leave_out_useless(struct analyses *all, const struct model *part)
{
	enum { ALWAYS, WITH_GPU, WITHOUT_GPU, AROUND_GPU };
	static const uint8_t of_use[ANALYZE_COUNT] = {
#define ANALYSIS(name, table, of_use) [ANALYZE_##name] = of_use,
		ANALYSIS_ROWS(ANALYSIS)
#undef ANALYSIS
	};
	bool has_gpu = all->gpu_ops || part->gpu_count;

	if (!has_gpu && part->more)
		return;
	for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
		if (of_use[which] == (has_gpu ? WITHOUT_GPU : WITH_GPU) ||
		    (of_use[which] == AROUND_GPU && !has_gpu && !all->idle.devices.count))
			all->has[which] = false;
	find_hooks(all);
}

void analyses_begin_around(struct analyses *all, const struct model *first, uint64_t to_ns)
{
	all->in_around = true;
	find_hooks(all);
	idle_begin_around(&all->idle, window_of(first), to_ns);
}

void analyses_end_around(struct analyses *all)
{
	all->in_around = false;
	all->idle_is_fed = true;
	for (size_t i = 0; i < all->idle.devices.count; i++) {
		uint32_t device = all->idle.devices.items[i].device;

		if (all->has[ANALYZE_UTILIZATION])
			utilization_add_device(&all->utilization, device);
		if (all->has[ANALYZE_BREAKDOWN])
			breakdown_add_device(&all->breakdown, device);
	}
	find_hooks(all);
}

static uint32_t count_in_part(const struct model_in_part *part, uint32_t count)
{
	return in_part_end(part, count) - part->from;
}

void analyses_begin_part(struct analyses *all, const struct model *part)
{
	all->model = part;
	all->callers.model = part;
	if (all->in_around) {
		all->idle.model = part;
		return;
	}
	by_all(all, HOOK_part, &(struct part_event){.part = part});
	all->calls += count_in_part(&part->calls_in_part, part->call_count);
	all->gpu_ops += count_in_part(&part->gpu_in_part, part->gpu_count);
	if (all->if_of_use)
		leave_out_useless(all, part);
}

#define ADD(kind, one, ...)                                                                                            \
	void analyses_add_##one(struct analyses *all, const struct one##_event *event)                                 \
	{                                                                                                              \
		by_wanted(all, HOOK_##one, event);                                                                     \
	}                                                                                                              \
	bool analyses_want_##one(const struct analyses *all)                                                           \
	{                                                                                                              \
		return all->hooks[HOOK_##one][0];                                                                      \
	}
EVENT_ROWS(ADD, ADD)
#undef ADD

void analyses_end_range(struct analyses *all, const struct range_event *event)
{
	by_wanted(all, HOOK_range_end, event);
}

void analyses_show_gpu(struct analyses *all, const struct gpu_event *event)
{
	if (!all->in_around && all->each_gpu && event->op->start_ns && !all->had_enough)
		all->had_enough = !all->each_gpu(all->each_context, all, event);
}

void analyses_finish(struct analyses *all)
{
	if (all->window.end_ns == UINT64_MAX)
		all->window.end_ns = all->last_ns;
	all->window.timed_from_ns = untimed_end(&all->untimed, all->model, &all->window);
	for (uint32_t i = 0; i < all->model->process_count; i++)
		all->active += all->model->processes[i].calls || all->model->processes[i].gpu_ops;
	complete_make(&all->complete, all->model);
	lines_make(&all->lines, &all->callers);
	by_wanted(all, HOOK_finish, &(struct finish_event){.lines = &all->lines});
}

void analyses_free(struct analyses *all)
{
	by_all(all, HOOK_free, NULL);
	step_blocks_free(&all->blocks);
	lines_free(&all->lines);
	callers_free(&all->callers);
}
