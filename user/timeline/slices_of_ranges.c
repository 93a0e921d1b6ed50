/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX ranges and marks: what the program itself calls its times. */
#include "timeline/parts.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

static void visit_range(struct visit *visit, uint32_t index)
{
	static const char *const kinds[] = {
		[MODEL_SPAN_MARK] = "mark",
		[MODEL_SPAN_PUSHED] = "push, pop",
		[MODEL_SPAN_STARTED] = "start, end",
	};
	const struct timeline *timeline = visit->timeline;
	const struct model_span *range = &timeline->model->ranges[index];
	bool is_mark = range->kind == MODEL_SPAN_MARK;
	struct draft draft;

	draft_begin(&draft, is_mark ? TIMELINE_MARK : TIMELINE_RANGE, placed_track(&timeline->placement->ranges, index),
		    range->start_ns, is_mark ? range->start_ns : range->end_ns);
	draft.slice.name.text = timeline->model->strings[range->name];
	if (!*draft.slice.name.text)
		draft.slice.name.text = "(no name)";
	draft_number(&draft, TIMELINE_ARG_RANGE, index);
	draft_text(&draft, TIMELINE_ARG_RANGE_KIND, kinds[range->kind]);
	if (range->domain != NONE)
		draft_text(&draft, TIMELINE_ARG_DOMAIN, timeline->model->strings[range->domain]);
	if (range->truncated)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

void visit_ranges(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;

	for (uint32_t i = 0; i < timeline->model->range_count && !visit->ended; i++)
		if (timeline->placement->ranges.lane_of[i] != LANE_NONE)
			visit_range(visit, i);
}
