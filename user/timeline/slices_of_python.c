/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python functions, numbered through the timeline. */
#include "timeline/kinds.h"
#include "timeline/python_slices.h"
#include "timeline/visit.h"

static void visit_function(struct visit *visit, uint32_t track, const struct python_slice *slice, const char *from)
{
	struct draft draft;

	draft_begin(&draft, TIMELINE_PYTHON, track, slice->start_ns, slice->end_ns);
	draft.slice.name.code = slice->code;
	if (slice->code == NONE)
		draft.slice.name.text = "[frames left out]";
	if (slice->parent)
		draft_number(&draft, TIMELINE_ARG_PYTHON_PARENT, slice->parent);
	draft_number(&draft, TIMELINE_ARG_PYTHON_ID, slice->id);
	draft_text(&draft, TIMELINE_ARG_FROM, from);
	if (slice->end_unseen)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

/* What is drawn from calls need not nest with ops of PyTorch. */
static uint32_t drawn_track(const struct timeline *timeline, uint32_t track)
{
	const struct timeline_track *next = &timeline->tracks.items[track + 1];

	return track + 1 < timeline->tracks.count && next->kind == TIMELINE_TRACK_PYTHON ? track + 1 : track;
}

void visit_python(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	struct python_slices *python = &visit->python;

	for (uint32_t i = 0; i < model->thread_count && !visit->ended; i++) {
		uint32_t track = timeline->thread_tracks[i];
		struct traced_slices traced = {0};
		struct python_slice slice;

		if (track == TIMELINE_NONE)
			continue;
		python_slices_draw(python, model, timeline->calls, i, visit->last);
		for (size_t k = 0; k < python->drawn.count && !visit->ended; k++)
			visit_function(visit, drawn_track(timeline, track), &python->drawn.items[k], "snapshots");
		while (!visit->ended && traced_slices_next(&traced, python, model, i, visit->last, &slice))
			visit_function(visit, track, &slice, "calls");
		traced_slices_free(&traced);
	}
}
