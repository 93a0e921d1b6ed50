/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/placement.h"

#include <stdlib.h>

#include "base/array.h"
#include "timeline/members.h"

_Static_assert(LANES_MAX == TIMELINE_LANES_MAX, "timeline.h says how many");

static void begin(struct placed *placed, uint32_t count)
{
	placed->lane_of = xmalloc(count * sizeof(*placed->lane_of));
	for (uint32_t i = 0; i < count; i++)
		placed->lane_of[i] = LANE_NONE;
}

static void place_operations(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->operations;
	const struct model *model = timeline->model;

	begin(placed, model->gpu_count);
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];

		if (!timeline_has_process(timeline, op->process))
			continue;
		if (!op->end_ns || op->end_ns < op->start_ns) {
			timeline->omitted.untimed++;
			continue;
		}
		placed->lane_of[i] =
			lanes_place(&placed->lanes, (struct tally_key){{op->process, op->device, op->stream}},
				    op->start_ns, op->end_ns);
		timeline->omitted.operations += placed->lane_of[i] == LANE_NONE;
		timeline->omitted.unseen += op->call == NONE && !op->before;
	}
	placement->first_operation = xcalloc(placed->lanes.all.count, sizeof(*placement->first_operation));
	for (uint32_t i = model->gpu_count; i-- > 0;)
		if (placed->lane_of[i] != LANE_NONE)
			placement->first_operation[placed->lane_of[i]] = i;
}

static void place_syncs(struct timeline *timeline, struct placed *placed)
{
	const struct model *model = timeline->model;

	begin(placed, model->sync_count);
	for (uint32_t i = 0; i < model->sync_count; i++) {
		const struct model_sync *sync = &model->syncs[i];

		if (!timeline_has_process(timeline, sync->process))
			continue;
		if (sync->device != NONE)
			placed->lane_of[i] = lanes_place(
				&placed->lanes, (struct tally_key){{sync->process, sync->device, sync->stream}},
				sync->start_ns, sync->end_ns);
		timeline->omitted.syncs += placed->lane_of[i] == LANE_NONE;
	}
}

static void place_jits(struct timeline *timeline, struct placed *placed)
{
	const struct model *model = timeline->model;

	begin(placed, model->jit_count);
	for (uint32_t i = 0; i < model->jit_count; i++) {
		const struct model_jit *jit = &model->jits[i];

		if (!timeline_has_process(timeline, jit->process))
			continue;
		placed->lane_of[i] = lanes_place(&placed->lanes, (struct tally_key){{jit->process, jit->tid}},
						 jit->start_ns, jit->end_ns);
		timeline->omitted.jits += placed->lane_of[i] == LANE_NONE;
	}
}

/* Pushed ones nest, so only the outermost takes a lane, and that is always the first. */
static uint32_t place_range(struct lanes *lanes, struct tally_key key, const struct model_span *range)
{
	uint32_t first = range->kind == MODEL_SPAN_STARTED ? LANE_NONE : lanes_first(lanes, key);

	if (first != LANE_NONE && lanes->all.items[first].last_end_ns > range->start_ns)
		return first;
	return lanes_place(lanes, key, range->start_ns, range->end_ns);
}

static void place_ranges(struct timeline *timeline, struct placed *placed)
{
	const struct model *model = timeline->model;

	begin(placed, model->range_count);
	for (uint32_t i = 0; i < model->range_count; i++) {
		const struct model_span *range = &model->ranges[i];
		struct tally_key key = {{range->thread, range->domain, range->kind == MODEL_SPAN_STARTED}};

		if (!timeline_has_thread(timeline, range->thread))
			continue;
		placed->lane_of[i] = place_range(&placed->lanes, key, range);
		timeline->omitted.ranges += placed->lane_of[i] == LANE_NONE;
	}
}

static int by_start(const void *left, const void *right, void *context)
{
	const struct model_overhead *overheads = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t start_a = overheads[a].start_ns, start_b = overheads[b].start_ns;

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void place_overheads(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->overheads;
	const struct model *model = timeline->model;
	uint32_t *order = xmalloc(model->overhead_count * sizeof(*order)), count = 0;

	begin(placed, model->overhead_count);
	for (uint32_t i = 0; i < model->overhead_count; i++)
		if (timeline_has_process(timeline, model->overheads[i].process) && model->overheads[i].end_ns &&
		    model->overheads[i].end_ns >= model->overheads[i].start_ns)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), by_start, model->overheads);
	for (uint32_t k = 0; k < count; k++) {
		const struct model_overhead *overhead = &model->overheads[order[k]];

		placed->lane_of[order[k]] =
			lanes_place(&placed->lanes, (struct tally_key){{overhead->process, overhead->tid}},
				    overhead->start_ns, overhead->end_ns);
	}
	placement->overhead_order = order;
	placement->overhead_count = count;
}

struct timeline_placement *timeline_placement_new(struct timeline *timeline)
{
	struct timeline_placement *placement = xcalloc(1, sizeof(*placement));

	place_operations(timeline, placement);
	place_syncs(timeline, &placement->syncs);
	place_jits(timeline, &placement->jits);
	place_ranges(timeline, &placement->ranges);
	place_overheads(timeline, placement);
	return placement;
}

static void end(struct placed *placed)
{
	lanes_free(&placed->lanes);
	free(placed->lane_of);
}

void timeline_placement_free(struct timeline_placement *placement)
{
	if (!placement)
		return;
	end(&placement->operations);
	end(&placement->syncs);
	end(&placement->jits);
	end(&placement->ranges);
	end(&placement->overheads);
	free(placement->first_operation);
	free(placement->overhead_order);
	free(placement);
}
