/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python functions, numbered through the timeline. */
#include "timeline/kinds.h"
#include "timeline/python_slices.h"
#include "timeline/visit.h"

/* A function, or a call of a module. */
static void begin_draft(struct draft *draft, const struct model *model, uint32_t track,
			const struct python_slice *slice)
{
	const struct model_module *module = slice->module == NONE ? NULL : &model->modules[slice->module];

	draft_begin(draft, module ? TIMELINE_LAYER : TIMELINE_PYTHON, track, slice->start_ns, slice->end_ns);
	draft->slice.name.code = slice->code;
	if (module)
		draft->slice.name.text = model_module_label(module);
	else if (slice->code == NONE)
		draft->slice.name.text = "[frames left out]";
	if (module && *module->class)
		draft_text(draft, TIMELINE_ARG_LAYER_CLASS, module->class);
}

static void visit_function(struct visit *visit, uint32_t track, const struct python_slice *slice, const char *from)
{
	struct draft draft;

	begin_draft(&draft, visit->timeline->model, track, slice);
	if (slice->module != NONE) {
		visit_slice(visit, &draft.slice);
		return;
	}
	if (slice->parent)
		draft_number(&draft, TIMELINE_ARG_PYTHON_PARENT, slice->parent);
	draft_number(&draft, TIMELINE_ARG_PYTHON_ID, slice->id);
	draft_text(&draft, TIMELINE_ARG_FROM, from);
	if (slice->end_unseen)
		draft_text(&draft, TIMELINE_ARG_END, "not seen");
	visit_slice(visit, &draft.slice);
}

/* The track for slices drawn from calls, which need not nest with PyTorch ops. */
static uint32_t drawn_track(const struct timeline *timeline, uint32_t track)
{
	const struct timeline_track *next = &timeline->tracks.items[track + 1];

	return track + 1 < timeline->tracks.count && next->kind == TIMELINE_TRACK_PYTHON ? track + 1 : track;
}

static void show_open(struct visit *visit, uint32_t track, struct python_slice slice, uint64_t end_ns)
{
	struct draft draft;

	slice.end_ns = end_ns;
	begin_draft(&draft, visit->timeline->model, track, &slice);
	draft.slice.start_ns = timeline_time(visit->timeline, draft.slice.start_ns);
	draft.slice.end_ns = timeline_time(visit->timeline, draft.slice.end_ns);
	visit->visitor->open(visit->visitor->context, &draft.slice);
}

/* Shows open functions of one thread, outer ones first. */
static void show_all_open(struct visit *visit, uint32_t thread, uint32_t track)
{
	const struct model *model = visit->timeline->model;
	const struct model_thread *of = &model->threads[thread];
	const struct python_thread *drawn = &visit->python.threads[thread];

	for (size_t i = 0; i < drawn->frames.count; i++)
		show_open(visit, drawn_track(visit->timeline, track), drawn->frames.items[i].slice, drawn->end_ns);
	for (uint32_t i = of->first_pycall; i < of->first_pycall + of->pycalls; i++)
		if (model->pycalls[i].open)
			show_open(visit, track,
				  (struct python_slice){.start_ns = model->pycalls[i].start_ns,
							.code = model->pycalls[i].code,
							.module = NONE},
				  model->until_ns);
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
		if (visit->visitor->open && !visit->last)
			show_all_open(visit, i, track);
	}
}
