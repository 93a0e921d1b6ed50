/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUPTI's own overhead. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

static int by_start(const void *left, const void *right, void *context)
{
	const struct model_overhead *overheads = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t start_a = overheads[a].start_ns, start_b = overheads[b].start_ns;

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

void place_overheads(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->overheads;
	const struct model *model = timeline->model;
	uint32_t from = model->overheads_in_part.from,
		 end = in_part_end(&model->overheads_in_part, model->overhead_count);

	placed_begin(placed, from, end);
	placement->overhead_order.count = 0;
	for (uint32_t i = from; i < end; i++)
		if (timeline_has_process(timeline, model->overheads[i].process) && model->overheads[i].end_ns &&
		    model->overheads[i].end_ns >= model->overheads[i].start_ns)
			array_push(&placement->overhead_order, i);
	if (placement->overhead_order.count)
		qsort_r(placement->overhead_order.items, placement->overhead_order.count, sizeof(uint32_t), by_start,
			model->overheads);
	for (size_t k = 0; k < placement->overhead_order.count; k++) {
		uint32_t index = placement->overhead_order.items[k];
		const struct model_overhead *overhead = &model->overheads[index];

		placed->row_of[index - from] =
			slice_rows_place(&placed->rows, (struct tally_key){{overhead->process, overhead->tid}},
					 overhead->start_ns, overhead->end_ns);
	}
}

void label_overheads(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	snprintf(text, size, "thread %" PRIu32 " CUPTI", track->tid);
}

/* Kineto's names for CUpti_ActivityOverheadKind (cupti_activity.h, 13.0). */
static const char *overhead_name(uint32_t kind)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} names[] = {
		{1, "Driver Compiler"},
		{1u << 16, "Buffer Flush"},
		{2u << 16, "Instrumentation"},
		{3u << 16, "Resource"},
		{4u << 16, "Runtime Triggered Module Loading"},
		{5u << 16, "Lazy Function Loading"},
		{6u << 16, "Command Buffer Full"},
		{7u << 16, "Activity Buffer Request"},
		{8u << 16, "UVM Activity Init"},
	};

	return value_of_first(sizeof(names) / sizeof(names[0]), i, names[i].kind == kind, names[i].name, "Unknown");
}

void visit_overheads(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct timeline_placement *placement = timeline->placement;

	for (size_t k = 0; k < placement->overhead_order.count && !visit->ended; k++) {
		uint32_t index = placement->overhead_order.items[k];
		const struct model_overhead *overhead = &timeline->model->overheads[index];
		struct draft draft;

		if (placed_row(&placement->overheads, index) == ROW_NONE)
			continue;
		draft_begin(&draft, TIMELINE_CUPTI, placed_track(&placement->overheads, index), overhead->start_ns,
			    overhead->end_ns);
		draft.slice.name.text = overhead_name(overhead->kind);
		draft_number(&draft, TIMELINE_ARG_PROCESS, timeline->model->processes[overhead->process].pid);
		visit_slice(visit, &draft.slice);
	}
}
