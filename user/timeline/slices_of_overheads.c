/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What CUPTI itself cost. */
#include "timeline/kinds.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

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

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	return "Unknown";
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
