/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python functions, numbered through the timeline. */
#include "timeline/parts.h"
#include "timeline/python_slices.h"
#include "timeline/visit.h"

/* first_id: of the slices that slice->parent counts from. */
static void visit_function(struct visit *visit, uint32_t track, const struct python_slice *slice, uint64_t id,
			   uint64_t first_id, const char *from)
{
	struct draft draft;

	draft_begin(&draft, TIMELINE_PYTHON, track, slice->start_ns, slice->end_ns);
	draft.slice.name.code = slice->code;
	if (slice->code == NONE)
		draft.slice.name.text = "[frames left out]";
	if (slice->parent != NONE)
		draft_number(&draft, TIMELINE_ARG_PYTHON_PARENT, first_id + slice->parent);
	draft_number(&draft, TIMELINE_ARG_PYTHON_ID, id);
	draft_text(&draft, TIMELINE_ARG_FROM, from);
	if (slice->end_unseen)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

void visit_python(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	struct python_slices drawn = {0};
	uint64_t next_id = 1;

	for (uint32_t i = 0; i < model->thread_count && !visit->ended; i++) {
		uint32_t track = timeline->thread_tracks[i];
		struct traced_slices traced = {0};
		struct python_slice slice;
		uint64_t first_id = next_id;

		if (track == TIMELINE_NONE)
			continue;
		python_slices_draw(&drawn, model, timeline->calls, i);
		for (uint32_t k = 0; k < drawn.all.count && !visit->ended; k++)
			visit_function(visit, track, &drawn.all.items[k], next_id++, first_id, "snapshots");
		first_id = next_id;
		while (!visit->ended && traced_slices_next(&traced, model, i, &slice))
			visit_function(visit, track, &slice, next_id++, first_id, "calls");
		traced_slices_free(&traced);
	}
	python_slices_free(&drawn);
}
