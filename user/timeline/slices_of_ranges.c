/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX ranges and marks: what the program itself calls its times. */
#include "timeline/kinds.h"
#include "timeline/members.h"
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
		    range->start_ns, is_mark ? range->start_ns : span_end(timeline->model, range));
	draft.slice.name.text = timeline->model->strings[range->name];
	if (!*draft.slice.name.text)
		draft.slice.name.text = "(no name)";
	draft_number(&draft, TIMELINE_ARG_RANGE, timeline->placement->range_numbers[index]);
	draft_text(&draft, TIMELINE_ARG_RANGE_KIND, kinds[range->kind]);
	draft_number(&draft, TIMELINE_ARG_THREAD, timeline->model->threads[range->thread].tid);
	if (range->domain != NONE)
		draft_text(&draft, TIMELINE_ARG_DOMAIN, timeline->model->strings[range->domain]);
	if (range->truncated || range->open)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

void visit_ranges(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;

	for (uint32_t i = 0; i < model->range_count && !visit->ended; i++)
		if (placed_row(&timeline->placement->ranges, i) != ROW_NONE && (!model->ranges[i].open || visit->last))
			visit_range(visit, i);
}
