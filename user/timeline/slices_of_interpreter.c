/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collections and imports, on tracks of their own: slices of one track must nest, but slices drawn from stacks may
 * begin in the middle of an import and end after it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/kinds.h"
#include "timeline/visit.h"

static void visit_span(struct visit *visit, const struct model_span *span)
{
	const struct timeline *timeline = visit->timeline;
	bool is_gc = span->kind == MODEL_SPAN_GC;
	struct draft draft;
	char text[48];

	/* The interpreter's track follows its thread's. */
	draft_begin(&draft, is_gc ? TIMELINE_GC : TIMELINE_IMPORT, timeline->thread_tracks[span->thread] + 1,
		    span->start_ns, span->end_ns);
	if (!is_gc) {
		draft.slice.name.before = "import ";
		draft.slice.name.text = timeline->model->strings[span->name];
		draft_text(&draft, TIMELINE_ARG_MODULE, draft.slice.name.text);
	} else if (span->generation >= 0) {
		snprintf(text, sizeof(text), "gc generation %" PRId32, span->generation);
		draft.slice.name.text = text;
		draft_signed(&draft, TIMELINE_ARG_GENERATION, span->generation);
	} else {
		draft.slice.name.text = "gc";
	}
	draft_number(&draft, TIMELINE_ARG_THREAD, timeline->model->threads[span->thread].tid);
	if (span->truncated)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

void visit_interpreter(struct visit *visit)
{
	const struct model *model = visit->timeline->model;

	if (!visit->first) /* each part has all of them */
		return;
	for (uint32_t i = 0; i < model->pyspan_count && !visit->ended; i++)
		if (visit->timeline->thread_tracks[model->pyspans[i].thread] != TIMELINE_NONE)
			visit_span(visit, &model->pyspans[i]);
}
