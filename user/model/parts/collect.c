/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts that pass 1 collects from events that it does not keep. */
#include <string.h>

#include "model/join/tables.h"

/* Number of recent calls that collect_return can find: a power of two. */
#define RECENT_CALLS 65536u

void collected_free(struct collected *collected)
{
	array_free(&collected->corr_ranges);
	array_free(&collected->context_devices);
	array_free(&collected->symbol_times);
	lookup_free(&collected->contexts);
	free(collected->recent);
	totals_free(&collected->totals);
}

/* ---- late or not ------------------------------------------------------------------------------------------------- */

/* The approximate time on CLOCK_MONOTONIC: the wall clock may have been set since the recording began. */
static uint64_t approximate_time(const struct builder *builder, enum source_clock clock, uint64_t time_ns)
{
	if (clock == SOURCE_CLOCK_MONOTONIC)
		return time_ns;
	return time_ns - (uint64_t)model_source(builder->model)->wall_offset_ns;
}

/* A start further before the recording's is not a real time. */
#define BEFORE_START_NS (3600ull * 1000000000)

static bool has_place(const struct builder *builder, uint64_t about_ns)
{
	return about_ns + BEFORE_START_NS >= builder->model->start_ns && about_ns <= builder->reported_ns;
}

/* An event that began before the recording counts from the recording's start. */
static bool is_late(const struct builder *builder, uint64_t about_ns)
{
	uint64_t start_ns = builder->model->start_ns;

	return builder->reported_ns - (about_ns > start_ns ? about_ns : start_ns) > LATENESS_DEFER_NS;
}

enum disposition disposition_of(struct builder *builder, struct process_image program, uint32_t corr,
				enum source_clock clock, uint64_t start_ns)
{
	uint64_t about_ns = start_ns ? approximate_time(builder, clock, start_ns) : 0;
	bool begins = start_ns && has_place(builder, about_ns), event;

	if (builder->pass == PASS_ONLY)
		return JOIN;
	event = lateness_defers_reference(&builder->lateness, program.epoch, corr) ||
		(begins && builder->reported_ns > builder->model->start_ns && is_late(builder, about_ns));
	if (builder->pass == PASS_SECOND)
		return event ? IGNORE : JOIN;
	if (event)
		return DEFER;
	lateness_note_reference(&builder->lateness, program.epoch, corr);
	if (begins && about_ns >= builder->model->start_ns)
		lateness_note_begin(&builder->lateness, clock == SOURCE_CLOCK_MONOTONIC ? NONE : program.process,
				    start_ns);
	return IGNORE;
}

/* The start of an event and its clock, by the timing in its row of MODEL_EVENTS. */
#define CLOCK_OF_SPAN(event) ((event)->clock)
#define START_OF_SPAN(event) ((event)->record.start_wall_ns)
#define CLOCK_OF_MOMENT(event) ((event)->clock)
#define START_OF_MOMENT(event) ((event)->record.time_wall_ns)
#define CLOCK_OF_TICK(event) SOURCE_CLOCK_MONOTONIC
#define START_OF_TICK(event) ((event)->record.time_ns)
#define CLOCK_OF_END(event) SOURCE_CLOCK_MONOTONIC
#define START_OF_END(event) ((event)->record.end_ns)
#define CLOCK_OF_CALL(event) SOURCE_CLOCK_MONOTONIC
#define START_OF_CALL(event) 0 /* it has no time of its own: its call waits for it */

static uint64_t begin_of(const struct builder *builder, const struct deferred_event *event)
{
	uint64_t start_ns = 0;
	enum source_clock clock = SOURCE_CLOCK_MONOTONIC;

	switch (event->kind) {
	case DEFERRED_RETURN:
		break;
	case DEFERRED_API_ACTIVITY:
		start_ns = event->activity.record.start_wall_ns;
		clock = event->activity.clock;
		break;
	case DEFERRED_GPU:
		start_ns = event->gpu.op.start_ns;
		clock = (enum source_clock)event->gpu.clock;
		break;
	case DEFERRED_OP:
		start_ns = event->op.start_ns;
		break;
	case DEFERRED_TORCH_MEMORY:
		start_ns = event->torch.time_ns;
		break;
#define CASE(one, many, time, timing, ...)                                                                             \
	case DEFERRED_##one:                                                                                           \
		start_ns = START_OF_##timing(&event->one);                                                             \
		clock = CLOCK_OF_##timing(&event->one);                                                                \
		break;
		PENDING_EVENTS(CASE)
#undef CASE
	}
	return start_ns ? approximate_time(builder, clock, start_ns) : 0;
}

void defer(struct builder *builder, const struct deferred_event *event)
{
	array_push(&builder->deferred.list, *event)->time_ns = begin_of(builder, event);
}

#define RECEIVE(one, many, time, timing, ...)                                                                          \
	void receive_##one(struct builder *builder, const struct pending_##one *pending, uint32_t corr)                \
	{                                                                                                              \
		enum disposition what = disposition_of(builder, pending->program, corr, CLOCK_OF_##timing(pending),    \
						       START_OF_##timing(pending));                                    \
                                                                                                                       \
		if (what == DEFER)                                                                                     \
			defer(builder, &(struct deferred_event){                                                       \
					       .kind = DEFERRED_##one, .program = pending->program, .one = *pending}); \
		else if (what == JOIN)                                                                                 \
			array_push(&builder->pending_##many, *pending);                                                \
	}
PENDING_EVENTS(RECEIVE)
#undef RECEIVE

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void note_corr(struct collected *collected, uint32_t process, uint32_t corr, uint64_t start_ns)
{
	while (collected->corr_ranges.count <= process)
		array_push(&collected->corr_ranges, (struct corr_range){});
	corr_range_add(&collected->corr_ranges.items[process], corr, start_ns);
	collected->any_corr = true;
}

/* Correlation ids that calls got from API activity records are known only after those are joined. */
void collect_named(struct builder *builder)
{
	if (!builder->first->api_activities.ranges.count)
		return;
	for (size_t i = builder->calls.complete; i < builder->calls.list.count; i++) {
		const struct model_call *call = &builder->calls.list.items[i];

		if (call->corr)
			note_corr(&builder->collected, builder->processes.threads.items[call->thread].process,
				  call->corr, call->start_ns);
	}
}

/* A call and the driver call inside it share an id. */
#define INSIDE_CALL_NS 1000000000u

static bool is_inside_recent(const struct recent_call *recent, uint32_t epoch, const struct gpt_call *call)
{
	return recent->epoch == epoch && recent->corr == call->corr && call->time_ns - recent->time_ns < INSIDE_CALL_NS;
}

/* A nested call completes its thread's latest call seen by a symbol probe, which must not be handed over before. */
static void note_symbol_call(struct builder *builder, const struct gpt_call *call, uint32_t thread)
{
	struct collected *collected = &builder->collected;
	uint64_t *latest;

	while (collected->symbol_times.count <= thread)
		array_push(&collected->symbol_times, 0);
	latest = &collected->symbol_times.items[thread];
	if (call->hdr.type == GPT_CALL_ARGS)
		*latest = call->time_ns;
	else if (call->hdr.flags & GPT_CALL_NESTED_IN_SYMBOL && *latest &&
		 call->time_ns - *latest < LATENESS_DEFER_NS && *latest >= builder->model->start_ns)
		lateness_note_begin(&builder->lateness, NONE, *latest);
}

void collect_call(struct builder *builder, const struct gpt_call *call)
{
	struct process_image program = builder_process_image(builder, call->pid);
	uint32_t thread = process_table_find_thread(&builder->processes, program.process, call->tid);
	struct collected *collected = &builder->collected;
	struct recent_call *recent;

	calls_count(&builder->calls, thread, call->time_ns);
	if (has_place(builder, call->time_ns) && call->time_ns >= builder->model->start_ns)
		lateness_note_begin(&builder->lateness, NONE, call->time_ns);
	if (call->hdr.type == GPT_CALL_ARGS || call->hdr.flags & GPT_CALL_NESTED_IN_SYMBOL)
		note_symbol_call(builder, call, thread);
	if (!call->corr) {
		totals_add_call(&collected->totals, program.process, 0, false);
		return;
	}
	lateness_see_call(&builder->lateness, program.epoch, call->corr);
	lateness_note_reference(&builder->lateness, program.epoch, call->corr);
	note_corr(collected, program.process, call->corr, call->time_ns);
	if (!collected->recent)
		collected->recent = xcalloc(RECENT_CALLS, sizeof(*collected->recent));
	recent = &collected->recent[call->corr % RECENT_CALLS];
	totals_add_call(&collected->totals, program.process, call->corr, is_inside_recent(recent, program.epoch, call));
	*recent = (struct recent_call){
		.time_ns = call->time_ns, .epoch = program.epoch, .corr = call->corr, .thread = thread};
}

/* The returning thread is the calling one, named by its own process's tid. */
void collect_return(struct builder *builder, struct process_image program, const struct gpt_agent_api *back)
{
	const struct recent_call *call =
		builder->collected.recent ? &builder->collected.recent[back->corr % RECENT_CALLS] : NULL;

	if (call && call->epoch == program.epoch && call->corr == back->corr &&
	    builder->processes.threads.items[call->thread].tid != back->tid)
		ranges_collect_tid(&builder->ranges, program.epoch, back->tid, call->thread);
}

void collect_activity(struct builder *builder, const struct pending_api_activity *activity)
{
	const struct gpt_agent_api_activity *record = &activity->record;
	struct process_image program = activity->program;
	uint64_t about_ns = approximate_time(builder, activity->clock, record->start_wall_ns);

	if (builder->pass == PASS_ONLY)
		return;
	lateness_see_call(&builder->lateness, program.epoch, record->corr);
	if (builder->pass == PASS_FIRST) /* its call may have been counted already */
		totals_add_call(&builder->collected.totals, program.process, record->corr, true);
	if (builder->pass == PASS_SECOND || !has_place(builder, about_ns))
		return;
	builder->collected.any_corr = true;
	api_activities_note_range(&builder->api_activities, program.process, record->corr,
				  approximate_time(builder, activity->clock, record->end_wall_ns));
}

/* ---- the GPU ----------------------------------------------------------------------------------------------------- */

/* Consecutive operations nearly always have the same context. */
static struct context_device *context_device_of(struct collected *collected, const struct model_gpu *op)
{
	uint32_t *index = &collected->latest_context;
	struct context_device *latest =
		*index < collected->context_devices.count ? &collected->context_devices.items[*index] : NULL;
	struct context_device device = {
		.start_ns = UINT64_MAX, .process = op->process, .context = op->context, .device = op->device};

	if (latest && latest->process == op->process && latest->context == op->context)
		return latest;
	*index = *lookup_put(&collected->contexts, op->process + 1, op->context,
			     (uint32_t)collected->context_devices.count);
	if (*index == collected->context_devices.count)
		array_push(&collected->context_devices, device);
	return &collected->context_devices.items[*index];
}

/* A context's device is taken from its earliest operation. */
static void collect_context(struct builder *builder, const struct model_gpu *op)
{
	struct context_device *known = context_device_of(&builder->collected, op);

	if (op->start_ns < known->start_ns) {
		known->start_ns = op->start_ns;
		known->device = op->device;
	}
}

void collect_gpu_work(struct builder *builder, const struct pending_gpu *pending)
{
	const struct model_gpu *op = &pending->op;

	if (builder->pass != PASS_FIRST)
		return;
	totals_add_gpu_work(&builder->collected.totals, op->process);
	collect_context(builder, op);
	if (op->graph && op->graph_node)
		graphs_collect(&builder->graphs, pending->epoch, op->graph, op->graph_node);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* If the wall clock was set, a time converted without its call may be off by this much. */
#define STEP_MAX_NS 10000000000u

static uint64_t to_monotonic(void *context, uint32_t process, uint64_t wall_ns)
{
	struct builder *builder = context;
	struct clock_span moment = {.start_ns = wall_ns, .end_ns = wall_ns};
	uint64_t doubt_ns = wall_clock_steps(&builder->clock) ? STEP_MAX_NS : 0;

	if (!convert_span(builder, process, SOURCE_CLOCK_REALTIME, moment, 0, &moment))
		return UINT64_MAX;
	return moment.start_ns > doubt_ns ? moment.start_ns - doubt_ns : 0;
}

/* If the wall clock was set, a call decides between two possible times, so deferred events are fed before all calls. */
static void feed_first(struct deferred_events *deferred)
{
	for (size_t i = 0; i < deferred->list.count; i++)
		deferred->list.items[i].time_ns = 0;
}

void collect_finish(struct builder *builder)
{
	struct collected *collected = &builder->collected;

	array_each (device, &collected->context_devices) {
		*lookup_put(&collected->contexts, device->process + 1, device->context, 0) =
			device_table_find(&builder->devices, device->process, device->device);
	}
	array_free(&collected->context_devices);
	lateness_finish(&builder->lateness, to_monotonic, builder);
	totals_finish(&collected->totals, (uint32_t)builder->processes.list.count);
	if (wall_clock_steps(&builder->clock))
		feed_first(&builder->deferred);
	deferred_events_sort(&builder->deferred);
	free(collected->recent);
	collected->recent = NULL;
}
