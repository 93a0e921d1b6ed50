/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/span.h"

#include "timeline/calls_of_threads.h"
#include "timeline/members.h"
#include "timeline/placement.h"

static void include(struct timeline *timeline, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns < timeline->start_ns)
		timeline->start_ns = start_ns;
	if (end_ns > timeline->end_ns)
		timeline->end_ns = end_ns;
}

static void include_threads(struct timeline *timeline)
{
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (timeline_has_call(timeline, &model->calls[i]))
			include(timeline, model->calls[i].start_ns, call_end(model, timeline->calls, i));
	for (uint32_t i = 0; i < model->pyspan_count; i++)
		if (timeline_has_thread(timeline, model->pyspans[i].thread))
			include(timeline, model->pyspans[i].start_ns, model->pyspans[i].end_ns);
	for (uint32_t i = 0; i < model->pycall_count; i++)
		if (timeline_has_thread(timeline, model->pycalls[i].thread))
			include(timeline, model->pycalls[i].start_ns, model->pycalls[i].end_ns);
	for (uint32_t i = 0; i < model->range_count; i++)
		if (timeline_has_thread(timeline, model->ranges[i].thread))
			include(timeline, model->ranges[i].start_ns, model->ranges[i].end_ns);
}

static void include_gpus(struct timeline *timeline)
{
	const struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (placement->operations.lane_of[i] != LANE_NONE)
			include(timeline, model->gpu[i].start_ns, model->gpu[i].end_ns);
	for (uint32_t i = 0; i < model->memory_count; i++)
		if (timeline_has_process(timeline, model->memories[i].process))
			include(timeline, model->memories[i].time_ns, model->memories[i].time_ns);
	for (uint32_t i = 0; i < model->jit_count; i++)
		if (placement->jits.lane_of[i] != LANE_NONE)
			include(timeline, model->jits[i].start_ns, model->jits[i].end_ns);
	for (uint32_t i = 0; i < model->sync_count; i++)
		if (placement->syncs.lane_of[i] != LANE_NONE)
			include(timeline, model->syncs[i].start_ns, model->syncs[i].end_ns);
}

void timeline_find_span(struct timeline *timeline)
{
	const struct timeline_placement *placement = timeline->placement;
	const struct model *model = timeline->model;

	timeline->start_ns = model->start_ns;
	timeline->end_ns = model->end_ns;
	include_threads(timeline);
	include_gpus(timeline);
	/* CUPTI's overhead may end long after the recording, which goes no further for it. */
	if (placement->overhead_count && model->overheads[placement->overhead_order[0]].start_ns < timeline->start_ns)
		timeline->start_ns = model->overheads[placement->overhead_order[0]].start_ns;
	if (timeline->end_ns < timeline->start_ns)
		timeline->end_ns = timeline->start_ns;
}
