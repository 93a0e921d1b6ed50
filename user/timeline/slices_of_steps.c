/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps of training, with torch.profiler's name ProfilerStep#N. */
#include <inttypes.h>
#include <stdio.h>

#include "model/steps/steps.h"
#include "model/trace.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/steps.h"
#include "timeline/visit.h"

/* First number of steps as "ops", above the numbers of ops and NVTX ranges. */
#define STEP_OPS (1ull << 41)

void timeline_steps_begin(struct timeline *timeline)
{
	const struct steps *all = timeline->trace->steps;
	const struct model *model = timeline->model;

	for (uint32_t i = 0; all && i < model->process_count; i++) {
		const struct step_track *track =
			timeline_has_process(timeline, i) ? steps_of_process(all, model, i) : NULL;
		struct timeline_steps steps = {.track = TIMELINE_NONE};
		const struct model_thread *thread;
		size_t first;

		if (!track)
			continue;
		first = step_track_first_whole(track);
		steps.thread = step_track_thread(track, model, i);
		steps.list = track->list.items + first;
		steps.count = track->list.count - first;
		if (steps.thread == NONE || !steps.count)
			continue;
		thread = &model->threads[steps.thread];
		/*
		 * traced Python functions may not nest with steps; with ops, functions that were not traced have
		 * another track
		 */
		steps.has_own_track = !track->nests || !thread->has_ops || thread->pycalls || thread->pycalls_elsewhere;
		array_push(&timeline->steps, steps);
	}
}

static void visit_step(struct visit *visit, const struct timeline_steps *steps, const struct step *step, uint64_t count)
{
	const struct model *model = visit->timeline->model;
	uint64_t start_ns = step->start_ns, end_ns = step->end_ns;
	struct draft draft;
	char number[24];

	/* one of several files only shows its slice of the steps */
	if (model->slice && start_ns < model->start_ns)
		start_ns = model->start_ns;
	if (model->slice && end_ns > model->end_ns)
		end_ns = model->end_ns;
	if (end_ns <= start_ns)
		return;
	snprintf(number, sizeof(number), "%" PRIu64, step->number);
	draft_begin(&draft, TIMELINE_STEP, steps->track, start_ns, end_ns);
	draft.slice.name.before = "ProfilerStep#";
	draft.slice.name.text = number;
	draft.slice.op = STEP_OPS + count;
	draft_number(&draft, TIMELINE_ARG_OP_HANDLE, 0);
	draft_number(&draft, TIMELINE_ARG_OP_INDEX, 0);
	visit_slice(visit, &draft.slice);
}

void visit_steps(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	uint64_t count = 0;

	for (size_t s = 0; visit->first && s < timeline->steps.count; s++)
		for (size_t i = 0; i < timeline->steps.items[s].count && !visit->ended; i++)
			visit_step(visit, &timeline->steps.items[s], &timeline->steps.items[s].list[i], count++);
}
