/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pass 2, part by part.  Whenever enough events have arrived, those that began before a certain time are joined and
 * handed over: pass 1 found that no later event began before that time or refers to calls from before it.  Events
 * handed over are evicted when the next part is requested, unless something still refers to them.
 */
#include <string.h>

#include "model/order.h"
#include "model/join/tables.h"

/*
 * Far above the errors by which times on different clocks disagree: everything that belongs to an event before until_ns
 * begins at most this much later.
 */
#define SLACK_NS 10000000u
/* The same if API activity records must be matched to the calls that probes saw (api_activity.c, FAR_NS). */
#define SLACK_OF_ACTIVITIES_NS 200000000u

/* The maximum of calls that wait for events referring to them; beyond it they are handed over without those. */
#define WAITING_MAX (4u << 20)

struct builder *builder_new_first(void)
{
	struct builder *builder = builder_new();

	builder->pass = PASS_FIRST;
	collect_spans(builder);
	return builder;
}

void builder_begin_chunk(struct builder *builder, uint32_t chunk)
{
	if (builder->parts.handed_over)
		evict(builder);
	builder->lateness.chunk = chunk;
}

/* ---- between the passes ---------------------------------------------------------------------------------------- */

static uint32_t copy_string(struct builder *second, uint32_t string)
{
	const char *text = string == NONE ? NULL : string_at(&second->first->strings, string);

	return text ? string_intern(&second->strings, text, strlen(text)) : NONE;
}

/* Gives the model a copy of a table. */
#define COPY(one, many, table)                                                                                         \
	do {                                                                                                           \
		model->one##_count = (uint32_t)(table).count;                                                          \
		model->many = xmalloc((table).count * sizeof(*model->many));                                           \
		if ((table).count)                                                                                     \
			memcpy(model->many, (table).items, (table).count * sizeof(*model->many));                      \
	} while (0)

/* Takes the tables of the whole trace from pass 1, which owns or copies them. */
static void copy_whole_tables(struct builder *second)
{
	struct builder *first = second->first;
	struct model *model = second->model;

	model->start_ns = first->model->start_ns;
	model->end_ns = first->model->end_ns;
	model->gpu_times = first->model->gpu_times;
	model->totals = &first->collected.totals.found;
	SHOW(model, device, first->devices.list);
	SHOW(model, gap, first->gaps.list);
	SHOW(model, generated_line, first->generated_lines);
	SHOW(model, cell_line, first->cell_lines);
	model->holder_searches = first->holder_searches.items;
	model->holder_search_count = (uint32_t)first->holder_searches.count;
	SHOW(model, holder, first->holders);
	SHOW(model, held_storage, first->held_storages);
	COPY(pyspan, pyspans, first->pyevents.list);
	for (uint32_t i = 0; i < model->pyspan_count; i++)
		model->pyspans[i].name = copy_string(second, model->pyspans[i].name);
	model->schedule = first->model->schedule;
	model_source(model)->nvml = model_source(first->model)->nvml;
	model_source(model)->nvml_text = model_source(first->model)->nvml_text;
	COPY(reported_step, reported_steps, first->reported_steps);
	COPY(process, processes, first->processes.list);
	COPY(thread, threads, first->processes.threads);
}

struct builder *builder_new_second(struct builder *first)
{
	struct builder *builder = builder_new();

	builder->pass = PASS_SECOND;
	builder->first = first;
	builder->modules.first = &first->modules;
	copy_whole_tables(builder);
	read_spans_again(builder);
	return builder;
}

/* ---- deferred events --------------------------------------------------------------------------------------------- */

static void feed_deferred_event(struct builder *builder, const struct deferred_event *event)
{
	struct op_texts texts;
	struct pending_gpu gpu;

	switch (event->kind) {
	case DEFERRED_RETURN:
		calls_add_return(&builder->calls, event->program.epoch, &event->back);
		break;
	case DEFERRED_API_ACTIVITY:
		array_push(&builder->api_activities.pending, event->activity);
		break;
	case DEFERRED_GPU:
		gpu = event->gpu;
		gpu.op.name = copy_string(builder, gpu.op.name);
		gpu.op.label = copy_string(builder, gpu.op.label);
		gpu.op.place = copy_string(builder, gpu.op.place);
		gpu_work_add(builder, &gpu);
		break;
	case DEFERRED_OP:
		texts = (struct op_texts){copy_string(builder, event->texts.name),
					  copy_string(builder, event->texts.inputs),
					  copy_string(builder, event->texts.collective)};
		ops_add(&builder->ops, event->program, &event->op, texts);
		break;
	case DEFERRED_TORCH_MEMORY:
		torch_memory_add(&builder->torch_memory, event->program, &event->torch);
		break;
#define CASE(one, many, ...)                                                                                           \
	case DEFERRED_##one:                                                                                           \
		array_push(&builder->pending_##many, event->one);                                                      \
		break;
		PENDING_EVENTS(CASE)
#undef CASE
	}
}

/* Times are not exact yet, and far off if the wall clock was set; events fed too early simply stay pending. */
static void feed_deferred(struct builder *builder, uint64_t until_ns)
{
	const struct deferred_events *deferred = &builder->first->deferred;
	size_t *next = &builder->parts.deferred;

	while (*next < deferred->list.count &&
	       (until_ns == UINT64_MAX || deferred->list.items[*next].time_ns < until_ns + LATENESS_DEFER_NS)) {
		builder_wait(builder); /* its texts may be new */
		feed_deferred_event(builder, &deferred->list.items[(*next)++]);
	}
}

/* ---- the end of a part ------------------------------------------------------------------------------------------- */

/* The start of the first call to which a later event refers. */
static uint64_t first_awaited(const struct builder *builder, uint32_t chunk, uint64_t until_ns)
{
	const struct calls *calls = &builder->calls;
	uint32_t last_epoch = 0; /* no epoch */
	uint64_t awaited = 0;

	for (size_t i = calls->complete; i < calls->list.count && calls->list.items[i].start_ns < until_ns; i++) {
		const struct model_call *call = &calls->list.items[i];
		uint32_t process = builder->processes.threads.items[call->thread].process;
		uint32_t epoch = epoch_at(&builder->processes.states.items[process], call->start_ns);

		if (epoch != last_epoch)
			awaited = lateness_references(&builder->first->lateness, epoch, chunk);
		last_epoch = epoch;
		if (call->corr && lateness_unwrap(&builder->lateness, epoch, call->corr) >= awaited)
			return call->start_ns;
	}
	return until_ns;
}

static uint64_t subtract_ns(uint64_t time_ns, uint64_t by_ns)
{
	return time_ns > by_ns ? time_ns - by_ns : 0;
}

/* All events that begin before this time have arrived once the chunks before `chunk` have been read. */
static uint64_t complete_until(const struct builder *builder, uint32_t chunk)
{
	bool activities = builder->first->api_activities.ranges.count;

	return subtract_ns(lateness_begins(&builder->first->lateness, chunk),
			   activities ? SLACK_OF_ACTIVITIES_NS : SLACK_NS);
}

/* ---- a part ------------------------------------------------------------------------------------------------------ */

static void move_index(const uint32_t *places, uint32_t *call)
{
	if (*call != NONE)
		*call = places[*call];
}

/* Sorts new calls among the waiting ones, and updates references of joined events to them. */
static void order_calls(struct builder *builder)
{
	struct model *model = builder->model; /* has all events joined before */
	const uint32_t *places;

	calls_finish(&builder->calls);
	calls_sort(&builder->calls);
	nccl_calls_order(&builder->nccl_calls);
	places = builder->calls.places;
	if (!places)
		return;
	calls_move(&builder->calls, places);
	recordings_move(&builder->parts.recordings, places);
#define MOVE(one, many, member, ...)                                                                                   \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		move_index(places, &model->many[i].member);
	MODEL_REFERENCES_TO_CALLS(MOVE)
#undef MOVE
	free(builder->calls.places);
	builder->calls.places = NULL;
}

static void join_ops_part(struct builder *builder, uint64_t until_ns)
{
	struct model *model = builder->model;
	struct calls *calls = &builder->calls;
	size_t count = calls->list.count - calls->complete;

	ops_join(&builder->ops, &builder->first->ops, model->threads, model->end_ns, until_ns);
	torch_memory_join(&builder->torch_memory, &builder->ops, &builder->first->ops, &builder->sampled,
			  &builder->first->devices, model->threads, until_ns);
	if (count)
		ops_join_calls(&builder->ops, model->threads, model->thread_count, calls->list.items + calls->complete,
			       count);
}

#define SET_LATER(one, many, time, ...)                                                                                \
	do {                                                                                                           \
		uint32_t end = model->many##_in_part.from;                                                             \
		while (end < model->one##_count && model->many[end].time < until_ns)                                   \
			end++;                                                                                         \
		model->many##_in_part.later = model->one##_count - end;                                                \
	} while (0);

/* In each array, events that begin before until_ns belong to this part. */
static void set_in_part(struct model *model, uint64_t until_ns)
{
	uint32_t calls = model->call_count - model->calls_in_part.from;

	/* most of the events, and sorted */
	model->calls_in_part.later = 0;
	if (calls)
		model->calls_in_part.later =
			calls - (uint32_t)order_count_before(model->calls + model->calls_in_part.from, calls,
							     sizeof(*model->calls),
							     offsetof(struct model_call, start_ns), until_ns);
	MODEL_JOINED_EVENTS(SET_LATER)
}

/* Updates the counts of processes and threads so far. */
static void count_processes(struct builder *builder)
{
	struct model *model = builder->model;

	for (uint32_t i = model->gpu_in_part.from; i < in_part_end(&model->gpu_in_part, model->gpu_count); i++)
		model->processes[model->gpu[i].process].gpu_ops++;
	for (size_t i = 0; i < builder->processes.list.count; i++) {
		const struct model_process *process = &builder->processes.list.items[i];

		model->processes[i].calls = process->calls;
		model->processes[i].first_call_ns = process->first_call_ns;
		model->processes[i].last_call_ns = process->last_call_ns;
	}
	for (size_t i = 0; i < builder->processes.threads.count; i++)
		model->threads[i].calls = builder->processes.threads.items[i].calls;
}

/* The end of the next part, which starts where the previous one ended; equal to that: no part is complete yet. */
static uint64_t part_until(struct builder *builder, uint32_t chunk, uint64_t complete_ns)
{
	uint64_t until_ns = complete_ns;

	if (builder->calls.list.count - builder->calls.complete < WAITING_MAX)
		until_ns = first_awaited(builder, chunk, complete_ns);
	return until_ns > builder->parts.until_ns ? until_ns : builder->parts.until_ns;
}

static void count_part(struct builder *builder)
{
	struct model *model = &builder->parts.shown;
	struct model_receipt *receipt = &model_source(model)->receipt;

	receipt->clock_error_ns = builder->first->clock.error_ns;
	count_async_add(&builder->parts.count, model);
	if (model->more)
		return;
	count_async_wait(&builder->parts.count);
	receipt_add_losses(builder, model);
	receipt->clock_error_ns = builder->first->clock.error_ns;
	receipt->clock_steps = wall_clock_steps(&builder->first->clock);
	receipt->python_unpaired = builder->first->pyevents.lost + builder->first->functions.lost;
	receipt_finish(&builder->parts.count.count, model, receipt);
}

/* The reader of the previous part no longer reads the tables that this changes. */
static void hand_over(struct builder *builder, uint64_t until_ns)
{
	struct model *model = builder->model;

	model->continued = builder->parts.until_ns != 0;
	model->until_ns = until_ns;
	model->more = until_ns != UINT64_MAX;
	set_in_part(model, until_ns);
	graphs_count_missing(&builder->first->graphs, builder->processes.states.items, model);
	count_processes(builder);
	hand_over_spans(builder, until_ns, !model->more);
	builder->parts.shown = *model;
	count_part(builder);
	builder->parts.until_ns = until_ns;
	builder->parts.handed_over = true;
}

const struct model *builder_part(struct builder *builder, uint32_t chunk)
{
	bool last = chunk > builder->first->lateness.chunk;
	uint64_t complete_ns = last ? UINT64_MAX : complete_until(builder, chunk), until_ns;

	if (complete_ns <= builder->parts.until_ns)
		return NULL;
	feed_deferred(builder, complete_ns);
	order_calls(builder);
	join_api_activities(builder, complete_ns);
	collect_named(builder);
	until_ns = last ? UINT64_MAX : part_until(builder, chunk, complete_ns);
	if (until_ns <= builder->parts.until_ns)
		return NULL;
	stacks_name_natives(&builder->stacks, &builder->first->stacks);
	join_events(builder, complete_ns, until_ns);
	builder_wait(builder);
	join_ops_part(builder, until_ns);
	show_tables(builder);
	hand_over(builder, until_ns);
	return &builder->parts.shown;
}

bool builder_diverged(const struct builder *builder)
{
	const struct process_table *now = &builder->processes, *then = &builder->first->processes;

	return now->list.count > then->list.count || now->threads.count > then->threads.count ||
	       builder->lateness.chunk > builder->first->lateness.chunk;
}

uint64_t builder_waiting(const struct builder *builder)
{
	uint64_t joined_later = 0;

#define COUNT(one, many, ...) joined_later += builder->pending_##many.count;
	MODEL_JOINED_EVENTS(COUNT)
#undef COUNT
	return (builder->calls.list.count - builder->calls.complete) + builder->gpu.joined.count +
	       builder->gpu.pending.count + joined_later + builder->api_activities.pending.count +
	       builder->ops.pending.count + builder->torch_memory.pending.count + spans_waiting(&builder->functions) +
	       spans_waiting(&builder->ranges.spans);
}
