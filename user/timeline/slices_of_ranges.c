/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX ranges and marks, which the program names itself. */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

/* Pushed ranges nest, so only the outermost one takes a row, always row 0. */
static void place_range(struct slice_rows *rows, const struct model_span *range, struct open_range *placed)
{
	struct tally_key key = {{range->thread, range->domain, range->kind == MODEL_SPAN_STARTED}};
	uint32_t first = range->kind == MODEL_SPAN_STARTED ? ROW_NONE : slice_rows_first(rows, key);

	placed->takes_row = first == ROW_NONE || rows->all.items[first].last_end_ns <= range->start_ns;
	placed->row = placed->takes_row ? slice_rows_place(rows, key, range->start_ns, range->end_ns) : first;
}

/* The end of an open range is UINT64_MAX, which works like the true end: both are after all starts in this part. */
static struct open_range place_new_or_open(struct timeline *timeline, struct timeline_placement *placement,
					   const struct model_span *range)
{
	const struct open_range *before = open_ranges_find(&placement->open_ranges, range);
	struct open_range placed = {.key = range->number, .thread = range->thread, .row = ROW_NONE};

	if (before) {
		if (before->takes_row && before->row != ROW_NONE)
			placement->ranges.rows.all.items[before->row].last_end_ns = range->end_ns;
		return *before;
	}
	placed.number = placement->next_range++;
	if (timeline_has_thread(timeline, range->thread)) {
		place_range(&placement->ranges.rows, range, &placed);
		placement->omitted.ranges += placed.row == ROW_NONE;
	}
	return placed;
}

void place_ranges(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->ranges;
	const struct model *model = timeline->model;

	placed_begin(placed, 0, model->range_count);
	placement->range_numbers = array_reserve(placement->range_numbers, sizeof(*placement->range_numbers), 0,
						 model->range_count, &placement->range_room);
	open_ranges_next_part(&placement->open_ranges);
	for (uint32_t i = 0; i < model->range_count; i++) {
		struct open_range range = place_new_or_open(timeline, placement, &model->ranges[i]);

		placed->row_of[i] = range.row;
		placement->range_numbers[i] = range.number;
		if (model->ranges[i].open)
			array_push(&placement->open_ranges.now, range);
	}
}

void label_ranges(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, false, rest, sizeof(rest));
	snprintf(text, size, "thread %" PRIu32 " NVTX%s%s%.100s%s", track->tid, track->started ? " started ranges" : "",
		 *track->name ? " " : "", track->name, rest);
}

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
