/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interval of a timeline. */
#include "timeline/placement.h"

#include "timeline/rows/calls_of_threads.h"
#include "timeline/members.h"

/* Slices handed over have times relative to the start, so only the first part can change it. */
static void include_start(struct timeline *timeline, uint64_t start_ns)
{
	if (!timeline->model->continued && start_ns < timeline->start_ns)
		timeline->start_ns = start_ns;
}

static void include_span(struct timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	include_start(timeline, start_ns);
	if (end_ns > timeline->end_ns)
		timeline->end_ns = end_ns;
}

static void include_spans(struct timeline *timeline, const struct model_span *spans, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (timeline_has_thread(timeline, spans[i].thread))
			include_span(timeline, spans[i].start_ns, span_end(timeline->model, &spans[i]));
}

static void include_ops(struct timeline *timeline)
{
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct model_op *op = &model->ops[i];

		if (op->continued || !timeline_has_thread(timeline, op->thread))
			continue;
		include_span(timeline, op->start_ns, op->end_ns);
		timeline->placement->omitted.ops += op->overlaps;
	}
}

static void include_torch_memories(struct timeline *timeline)
{
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->torch_memory_count; i++) {
		const struct model_torch_memory *event = &model->torch_memories[i];

		if (timeline_has_thread(timeline, event->thread))
			include_span(timeline, event->time_ns, event->time_ns);
	}
}

static void include_calls(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->calls_in_part, model->call_count);

	for (uint32_t i = model->calls_in_part.from; i < end; i++)
		if (timeline_has_call(timeline, &model->calls[i]))
			include_span(timeline, model->calls[i].start_ns, call_end(model, timeline->calls, i));
}

static void include_gpus(struct timeline *timeline)
{
	const struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->memories_in_part, model->memory_count);

	for (uint32_t i = model->memories_in_part.from; i < end; i++)
		if (timeline_has_process(timeline, model->memories[i].process))
			include_span(timeline, model->memories[i].time_ns, model->memories[i].time_ns);
#define INCLUDE_TIMED(one, many)                                                                                       \
	end = in_part_end(&model->many##_in_part, model->one##_count);                                                 \
	for (uint32_t i = model->many##_in_part.from; i < end; i++)                                                    \
		if (placed_row(&placement->many, i) != ROW_NONE)                                                       \
			include_span(timeline, model->many[i].start_ns, model->many[i].end_ns);
#define INCLUDE_SPANNED(one, many)
#define INCLUDE(one, many, time, ...) INCLUDE_##time(one, many)
	TIMELINE_PLACED(INCLUDE)
#undef INCLUDE
#undef INCLUDE_SPANNED
#undef INCLUDE_TIMED
}

/* Includes waits as they are drawn: none begins before the recording. */
static void include_waits(struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->waits_in_part, model->wait_count);

	for (uint32_t i = model->waits_in_part.from; i < end; i++)
		if (placed_row(&timeline->placement->waits, i) != ROW_NONE)
			include_span(timeline, wait_drawn_from(model, &model->waits[i]), model->waits[i].end_ns);
}

static void include_samples(struct timeline *timeline)
{
	const struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < placement->sample_starts.count; i++)
		if (placement->samples.row_of[i] != ROW_NONE)
			include_span(timeline, placement->sample_starts.items[i],
				     model->samples[placement->samples.from + i].time_ns);
}

void timeline_span_part(struct timeline *timeline, bool first)
{
	const struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;

	if (first) {
		timeline->start_ns = model->start_ns;
		timeline->end_ns = model->end_ns;
		include_spans(timeline, model->pyspans, model->pyspan_count);
	}
	include_spans(timeline, model->pycalls, model->pycall_count);
	include_spans(timeline, model->ranges, model->range_count);
	include_torch_memories(timeline);
	include_ops(timeline);
	include_calls(timeline);
	include_gpus(timeline);
	include_waits(timeline);
	include_samples(timeline);
	/* CUPTI's overhead may end long after the recording, so it does not extend the end. */
	if (placement->overhead_order.count)
		include_start(timeline, model->overheads[placement->overhead_order.items[0]].start_ns);
	if (timeline->end_ns < timeline->start_ns)
		timeline->end_ns = timeline->start_ns;
}
