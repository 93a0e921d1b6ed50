/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who is fed with what. */
#include "analyze/analyses.h"

const enum analysis analyses_of_report[] = {
#define IN_REPORT(name) ANALYZE_##name,
#define IN_ASKED(name)
#define ANALYSIS(name, table, of_use) IN_##table(name)
	ANALYSIS_ROWS(ANALYSIS)
#undef ANALYSIS
		ANALYZE_END,
};

/* ---- what each does ---------------------------------------------------------------------------------------------- */

/* What hooks get beside events. */
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

/*
 * X(ANALYSIS, hook, what is done) with struct analyses *all and the hook's event.  begin, part and free are for all
 * analyses, the others for those that were asked for.
 */
#define ANALYSIS_DOES(X)                                                                                               \
	X(ACTIVITY_SUMS, gpu, activity_sums_add_gpu(&all->gpu_sums, event))                                            \
	X(ACTIVITY_SUMS, call, activity_sums_add_call(&all->api_sums, event))                                          \
	X(ACTIVITY_SUMS, finish, (activity_sums_finish(&all->gpu_sums), activity_sums_finish(&all->api_sums)))         \
	X(ACTIVITY_SUMS, free, (activity_sums_free(&all->gpu_sums), activity_sums_free(&all->api_sums)))               \
                                                                                                                       \
	X(GPU_LINES, begin, line_sums_init(&all->gpu_lines, event->first))                                             \
	X(GPU_LINES, part, all->gpu_lines.model = event->part)                                                         \
	X(GPU_LINES, gpu, line_sums_add_gpu(&all->gpu_lines, event))                                                   \
	X(GPU_LINES, finish, line_sums_finish(&all->gpu_lines, event->lines))                                          \
	X(GPU_LINES, free, line_sums_free(&all->gpu_lines))                                                            \
                                                                                                                       \
	X(CALL_LINES, begin, line_sums_init(&all->call_lines, event->first))                                           \
	X(CALL_LINES, part, all->call_lines.model = event->part)                                                       \
	X(CALL_LINES, call, line_sums_add_call(&all->call_lines, event))                                               \
	X(CALL_LINES, finish, line_sums_finish(&all->call_lines, event->lines))                                        \
	X(CALL_LINES, free, line_sums_free(&all->call_lines))                                                          \
                                                                                                                       \
	X(UNTIMED, call, untimed_add_call(&all->untimed, event))                                                       \
	X(UNTIMED, finish, untimed_finish(&all->untimed, event->lines))                                                \
	X(UNTIMED, free, untimed_free(&all->untimed))                                                                  \
                                                                                                                       \
	X(KERNELS, gpu, kernels_add_gpu(&all->kernels, event))                                                         \
	X(KERNELS, finish, kernels_finish(&all->kernels, event->lines))                                                \
	X(KERNELS, free, kernels_free(&all->kernels))                                                                  \
                                                                                                                       \
	X(MEMCPYS, gpu, memcpys_add_gpu(&all->memcpys, event))                                                         \
	X(MEMCPYS, finish, memcpys_finish(&all->memcpys, event->lines))                                                \
	X(MEMCPYS, free, memcpys_free(&all->memcpys))                                                                  \
                                                                                                                       \
	X(IDLE, begin, idle_init(&all->idle, event->first, &all->window))                                              \
	X(IDLE, part, idle_begin_part(&all->idle, event->part))                                                        \
	X(IDLE, call, idle_add_call(&all->idle, event))                                                                \
	X(IDLE, gpu, idle_add_gpu(&all->idle, event))                                                                  \
	X(IDLE, finish, idle_finish(&all->idle, event->lines))                                                         \
	X(IDLE, free, idle_free(&all->idle))                                                                           \
                                                                                                                       \
	X(WAITS, part, waits_begin_part(&all->waits, event->part))                                                     \
	X(WAITS, call, waits_add_call(&all->waits, event))                                                             \
	X(WAITS, sync, waits_add_sync(&all->waits, event))                                                             \
	X(WAITS, finish, waits_finish(&all->waits, event->lines))                                                      \
	X(WAITS, free, waits_free(&all->waits))                                                                        \
                                                                                                                       \
	X(API_TIMES, call, api_times_add_call(&all->api_times, event))                                                 \
	X(API_TIMES, finish, api_times_finish(&all->api_times, event->lines))                                          \
	X(API_TIMES, free, api_times_free(&all->api_times))                                                            \
                                                                                                                       \
	X(JIT, jit, jit_add_jit(&all->jit, event))                                                                     \
	X(JIT, finish, jit_finish(&all->jit, event->lines))                                                            \
	X(JIT, free, jit_free(&all->jit))                                                                              \
                                                                                                                       \
	X(MEMORY_PEAKS, begin, memory_peaks_init(&all->memory, event->first))                                          \
	X(MEMORY_PEAKS, memory, memory_peaks_add_memory(&all->memory, event))                                          \
	X(MEMORY_PEAKS, exit, memory_peaks_add_exit(&all->memory, event))                                              \
	X(MEMORY_PEAKS, finish, memory_peaks_finish(&all->memory, event->lines))                                       \
	X(MEMORY_PEAKS, free, memory_peaks_free(&all->memory))                                                         \
                                                                                                                       \
	X(TORCH_MEMORY, begin, torch_memory_sums_init(&all->torch_memory, &all->blocks))                               \
	X(TORCH_MEMORY, torch_memory, torch_memory_sums_add(&all->torch_memory, event))                                \
	X(TORCH_MEMORY, finish, torch_memory_sums_finish(&all->torch_memory, event->lines))                            \
	X(TORCH_MEMORY, free, torch_memory_sums_free(&all->torch_memory))                                              \
                                                                                                                       \
	X(FAILURES, call, failures_add_call(&all->failures, event))                                                    \
	X(FAILURES, finish, failures_finish(&all->failures, event->lines))                                             \
	X(FAILURES, free, failures_free(&all->failures))                                                               \
                                                                                                                       \
	X(INTERPRETER, begin, interpreter_init(&all->interpreter, event->first))                                       \
	X(INTERPRETER, gpu, interpreter_add_gpu(&all->interpreter, event))                                             \
	X(INTERPRETER, span, interpreter_add_span(&all->interpreter, event))                                           \
	X(INTERPRETER, finish, interpreter_finish(&all->interpreter))                                                  \
	X(INTERPRETER, free, interpreter_free(&all->interpreter))                                                      \
                                                                                                                       \
	X(NVTX, begin, nvtx_init(&all->nvtx, event->first))                                                            \
	X(NVTX, part, nvtx_begin_part(&all->nvtx, event->part))                                                        \
	X(NVTX, call, nvtx_add_call(&all->nvtx, event))                                                                \
	X(NVTX, range, nvtx_add_range(&all->nvtx, event))                                                              \
	X(NVTX, range_end, nvtx_end_range(&all->nvtx, event))                                                          \
	X(NVTX, finish, nvtx_finish(&all->nvtx))                                                                       \
	X(NVTX, free, nvtx_free(&all->nvtx))                                                                           \
                                                                                                                       \
	X(OPS, begin, ops_by_name_init(&all->ops, event->first))                                                       \
	X(OPS, part, all->ops.model = all->collectives.model = event->part)                                            \
	X(OPS, call, ops_by_name_add_call(&all->ops, event))                                                           \
	X(OPS, gpu, collective_sums_add_gpu(&all->collectives, event))                                                 \
	X(OPS, op, ops_by_name_add_op(&all->ops, event))                                                               \
	X(OPS, finish, (ops_by_name_finish(&all->ops), collective_sums_finish(&all->collectives, event->lines)))       \
	X(OPS, free, (ops_by_name_free(&all->ops), collective_sums_free(&all->collectives)))                           \
                                                                                                                       \
	X(KEY_AVERAGES, begin, key_averages_init(&all->keys, event->first, &event->options->keys))                     \
	X(KEY_AVERAGES, part, op_tree_begin_part(&all->keys.tree, event->part))                                        \
	X(KEY_AVERAGES, call, key_averages_add_call(&all->keys, event))                                                \
	X(KEY_AVERAGES, gpu, key_averages_add_gpu(&all->keys, event))                                                  \
	X(KEY_AVERAGES, torch_memory, key_averages_add_memory(&all->keys, event))                                      \
	X(KEY_AVERAGES, op, key_averages_add_op(&all->keys, event))                                                    \
	X(KEY_AVERAGES, finish, key_averages_finish(&all->keys))                                                       \
	X(KEY_AVERAGES, free, key_averages_free(&all->keys))                                                           \
                                                                                                                       \
	X(OP_STACKS, begin, op_stacks_init(&all->op_stacks, event->first))                                             \
	X(OP_STACKS, part, op_tree_begin_part(&all->op_stacks.tree, event->part))                                      \
	X(OP_STACKS, call, op_tree_add_call(&all->op_stacks.tree, event))                                              \
	X(OP_STACKS, op, op_tree_add_op(&all->op_stacks.tree, event))                                                  \
	X(OP_STACKS, finish, op_stacks_finish(&all->op_stacks))                                                        \
	X(OP_STACKS, free, op_stacks_free(&all->op_stacks))                                                            \
                                                                                                                       \
	X(CALL_TREE, begin, call_tree_init(&all->tree, event->first, &all->attribution, event->options->tree_by))      \
	X(CALL_TREE, part, all->tree.model = event->part)                                                              \
	X(CALL_TREE, call, call_tree_add_call(&all->tree, event))                                                      \
	X(CALL_TREE, gpu, call_tree_add_gpu(&all->tree, event))                                                        \
	X(CALL_TREE, op, call_tree_add_op(&all->tree, event))                                                          \
	X(CALL_TREE, finish,                                                                                           \
	  (call_tree_finish(&all->tree),                                                                               \
	   all->tree.by == TREE_BY_MEMORY ? call_tree_add_memory(&all->tree, &all->torch_memory) : (void)0))           \
	X(CALL_TREE, free, call_tree_free(&all->tree))                                                                 \
                                                                                                                       \
	X(LINE_COSTS, begin, line_costs_init(&all->line_costs, event->first, &all->window))                            \
	X(LINE_COSTS, part, line_costs_begin_part(&all->line_costs, event->part))                                      \
	X(LINE_COSTS, call, line_costs_add_call(&all->line_costs, event))                                              \
	X(LINE_COSTS, gpu, line_costs_add_gpu(&all->line_costs, event))                                                \
	X(LINE_COSTS, sync, line_costs_add_sync(&all->line_costs, event))                                              \
	X(LINE_COSTS, finish, line_costs_finish(&all->line_costs, event->lines, &all->torch_memory))                   \
	X(LINE_COSTS, free, line_costs_free(&all->line_costs))                                                         \
                                                                                                                       \
	X(STEPS, begin, step_tables_init(&all->steps, all->has[ANALYZE_STEPS] ? event->steps : NULL, event->first))    \
	X(STEPS, part, step_tables_begin_part(&all->steps, event->part))                                               \
	X(STEPS, call, step_tables_add_call(&all->steps, event))                                                       \
	X(STEPS, gpu, step_tables_add_gpu(&all->steps, event))                                                         \
	X(STEPS, op, step_tables_add_op(&all->steps, event, all->model->threads[event->op->thread].process))           \
	X(STEPS, finish, step_tables_finish(&all->steps))                                                              \
	X(STEPS, free, step_tables_free(&all->steps))                                                                  \
                                                                                                                       \
	X(PER_STEP, begin, per_step_init(&all->per_step, &all->blocks, event->first))                                  \
	X(PER_STEP, part, per_step_begin_part(&all->per_step, event->part))                                            \
	X(PER_STEP, call, per_step_add_call(&all->per_step, event))                                                    \
	X(PER_STEP, gpu, per_step_add_gpu(&all->per_step, event))                                                      \
	X(PER_STEP, op, op_tree_add_op(&all->per_step.tree, event))                                                    \
	X(PER_STEP, finish, per_step_finish(&all->per_step, &all->window))                                             \
	X(PER_STEP, free, per_step_free(&all->per_step))                                                               \
                                                                                                                       \
	X(UTILIZATION, begin, utilization_init(&all->utilization, &all->window))                                       \
	X(UTILIZATION, gpu, utilization_add_gpu(&all->utilization, event))                                             \
	X(UTILIZATION, finish, utilization_finish(&all->utilization))                                                  \
	X(UTILIZATION, free, utilization_free(&all->utilization))                                                      \
                                                                                                                       \
	X(THREADS, begin, threads_init(&all->threads, event->first))                                                   \
	X(THREADS, call, threads_add_call(&all->threads, event))                                                       \
	X(THREADS, free, threads_free(&all->threads))                                                                  \
                                                                                                                       \
	X(WHY, begin, begin_why(all, event))                                                                           \
	X(WHY, part, begin_part_of_why(all, event->part))                                                              \
	X(WHY, call, why_add_call(&all->why, event))                                                                   \
	X(WHY, gpu, why_add_gpu(&all->why, event))                                                                     \
	X(WHY, jit, why_add_jit(&all->why, event))                                                                     \
	X(WHY, span, why_add_span(&all->why, event))                                                                   \
	X(WHY, op, why_add_op(&all->why, event))                                                                       \
	X(WHY, finish, why_finish(&all->why, event->lines))                                                            \
	X(WHY, free, free_why(all))                                                                                    \
                                                                                                                       \
	X(MEETINGS, begin, all->meeting_taker = all->has[ANALYZE_MEETINGS] ? meeting_taker_new(event->first) : NULL)   \
	X(MEETINGS, call, meeting_taker_add_call(all->meeting_taker, all->model, event))                               \
	X(MEETINGS, gpu, meeting_taker_add_gpu(all->meeting_taker, all->model, event))                                 \
	X(MEETINGS, finish, meeting_taker_finish(all->meeting_taker, all->model, event->lines, &all->meetings))        \
	X(MEETINGS, free, (meeting_taker_free(all->meeting_taker), meetings_free(&all->meetings)))                     \
                                                                                                                       \
	X(GPU_STACKS, begin, stack_sums_init(&all->gpu_stacks, event->first, &all->attribution))                       \
	X(GPU_STACKS, part, all->gpu_stacks.model = event->part)                                                       \
	X(GPU_STACKS, gpu, stack_sums_add_gpu(&all->gpu_stacks, event))                                                \
	X(GPU_STACKS, free, stack_sums_free(&all->gpu_stacks))                                                         \
                                                                                                                       \
	X(CALL_STACKS, begin, stack_sums_init(&all->call_stacks, event->first, &all->attribution))                     \
	X(CALL_STACKS, part, all->call_stacks.model = event->part)                                                     \
	X(CALL_STACKS, call, stack_sums_add_call(&all->call_stacks, event))                                            \
	X(CALL_STACKS, free, stack_sums_free(&all->call_stacks))

static void begin_why(struct analyses *all, const struct begin_event *event)
{
	if (all->has[ANALYZE_WHY])
		why_init(&all->why, event->first, &all->window, event->steps,
			 all->has[ANALYZE_PER_STEP] ? &all->blocks : NULL);
}

static void begin_part_of_why(struct analyses *all, const struct model *part)
{
	if (all->has[ANALYZE_WHY])
		why_begin_part(&all->why, part);
}

static void free_why(struct analyses *all)
{
	if (all->has[ANALYZE_WHY])
		why_free(&all->why);
}

#define DOES(name, hook, what)                                                                                         \
	static void name##_##hook(struct analyses *all, const void *of)                                                \
	{                                                                                                              \
		const struct hook##_event *event __attribute__((unused)) = of;                                         \
                                                                                                                       \
		what;                                                                                                  \
	}
ANALYSIS_DOES(DOES)
#undef DOES

static analysis_hook *const does[HOOK_COUNT][ANALYZE_COUNT] = {
#define DOES(name, hook, what) [HOOK_##hook][ANALYZE_##name] = name##_##hook,
	ANALYSIS_DOES(DOES)
#undef DOES
};

/* ---- a round ----------------------------------------------------------------------------------------------------- */

/* By all analyses. */
static void by_all(struct analyses *all, enum hook hook, const void *event)
{
	for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
		if (does[hook][which])
			does[hook][which](all, event);
}

/* By those that it has. */
static void by_wanted(struct analyses *all, enum hook hook, const void *event)
{
	for (analysis_hook *const *next = all->hooks[hook]; *next; next++)
		(*next)(all, event);
}

static void find_hooks(struct analyses *all)
{
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++) {
		size_t count = 0;

		for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
			if (all->has[which] && does[hook][which])
				all->hooks[hook][count++] = does[hook][which];
		all->hooks[hook][count] = NULL;
	}
}

void analyses_begin(struct analyses *all, const struct model *first, const struct steps *steps,
		    const enum analysis *which, const struct analyze_options *options)
{
	bool in_blocks;

	*all = (struct analyses){.window = {.start_ns = first->start_ns, .end_ns = UINT64_MAX}};
	for (; *which; which++)
		all->has[*which] = true;
	find_hooks(all);
	if (options->attribution)
		all->attribution = *options->attribution;
	if (first->end_ns > first->start_ns)
		all->window.end_ns = first->end_ns;
	all->last_ns = first->start_ns;
	all->if_of_use = options->if_of_use;
	all->each_gpu = options->each_gpu;
	all->each_context = options->each_context;
	callers_init(&all->callers, first);
	in_blocks = all->has[ANALYZE_PER_STEP] || all->has[ANALYZE_TORCH_MEMORY];
	step_blocks_init(&all->blocks, in_blocks ? steps : NULL, first);
	by_all(all, HOOK_begin, &(struct begin_event){.first = first, .steps = steps, .options = options});
}

/* One operation, also one that is due later, says that there are some; for none that was the last part. */
static void leave_out_useless(struct analyses *all, const struct model *part)
{
	enum { ALWAYS, WITH_GPU, WITHOUT_GPU };
	static const uint8_t of_use[ANALYZE_COUNT] = {
#define ANALYSIS(name, table, of_use) [ANALYZE_##name] = of_use,
		ANALYSIS_ROWS(ANALYSIS)
#undef ANALYSIS
	};
	bool has_gpu = all->gpu_ops || part->gpu_count;

	if (!has_gpu && part->more)
		return;
	for (enum analysis which = ANALYZE_END + 1; which < ANALYZE_COUNT; which++)
		if (of_use[which] == (has_gpu ? WITHOUT_GPU : WITH_GPU))
			all->has[which] = false;
	find_hooks(all);
}

static uint32_t due_count(const struct model_due *due, uint32_t count)
{
	return due_end(due, count) - due->from;
}

void analyses_begin_part(struct analyses *all, const struct model *part)
{
	all->model = part;
	all->callers.model = part;
	by_all(all, HOOK_part, &(struct part_event){.part = part});
	all->calls += due_count(&part->calls_due, part->call_count);
	all->gpu_ops += due_count(&part->gpu_due, part->gpu_count);
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
	if (all->each_gpu && event->op->start_ns && !all->had_enough)
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
