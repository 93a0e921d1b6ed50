/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits of threads off the CPU (--off-cpu): on a row next to their thread's, as the thread's slices need not nest with
 * them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/frames.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"

void place_waits(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->waits;
	const struct model *model = timeline->model;
	uint32_t from = model->waits_in_part.from, end = in_part_end(&model->waits_in_part, model->wait_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_wait *wait = &model->waits[i];

		if (!timeline_has_thread(timeline, wait->thread))
			continue;
		placed->row_of[i - from] = slice_rows_place(&placed->rows, (struct tally_key){{wait->thread}},
							    wait->start_ns, wait->end_ns);
		placement->omitted.waits += placed->row_of[i - from] == ROW_NONE;
	}
}

void label_waits(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, false, rest, sizeof(rest));
	snprintf(text, size, "thread %" PRIu32 " waits%s", track->tid, rest);
}

static void draft_waker(struct draft *draft, const struct model *model, const struct model_wait *wait,
			struct timeline_frame *line)
{
	if (wait->woken_by == GPT_WAKER_INTERRUPT)
		draft_text(draft, TIMELINE_ARG_WAKER, "(an interrupt)");
	if (wait->woken_by != GPT_WAKER_THREAD && wait->woken_by != GPT_WAKER_OTHER)
		return;
	if (*wait->waker_name)
		draft_text(draft, TIMELINE_ARG_WAKER, wait->waker_name);
	draft_number(draft, TIMELINE_ARG_WAKER_PROCESS, wait->waker_pid);
	draft_number(draft, TIMELINE_ARG_WAKER_THREAD, wait->waker_tid);
	draft_line(draft, model, TIMELINE_ARG_WAKER_LINE, wait->waker_stack, line);
}

static void visit_wait(struct visit *visit, uint32_t index)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	const struct model_wait *wait = &model->waits[index];
	const char *function = innermost_native(model, wait->native);
	uint64_t from_ns = wait_drawn_from(model, wait);
	struct timeline_stack stack;
	struct timeline_frame line;
	struct draft draft;

	draft_begin(&draft, TIMELINE_OFF_CPU, placed_track(&timeline->placement->waits, index), from_ns, wait->end_ns);
	draft.slice.name.text = wait_reason_name((enum gpt_wait_reason)wait->reason);
	if (from_ns != wait->start_ns)
		draft_text(&draft, TIMELINE_ARG_BEGIN, "before the trace");
	if (wait->open)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	draft_number(&draft, TIMELINE_ARG_THREAD, model->threads[wait->thread].tid);
	if (wait_runnable_ns(wait))
		draft_number(&draft, TIMELINE_ARG_RUNNABLE, wait_runnable_ns(wait));
	draft_stack(visit, &draft, wait->stack, wait->stack_state, &stack);
	if (function)
		draft_text(&draft, TIMELINE_ARG_NATIVE_FUNCTION, function);
	draft_waker(&draft, model, wait, &line);
	if (wait->holder != NONE)
		draft_number(&draft, TIMELINE_ARG_HOLDER, model->threads[wait->holder].tid);
	visit_slice(visit, &draft.slice);
}

void visit_waits(struct visit *visit)
{
	visit_placed(visit, &visit->timeline->placement->waits, visit_wait);
}
