/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks through the parts of a trace, and chooses among all candidates. */
#include "model/steps/steps.h"

#include <string.h>

#include "base/order.h"
#include "model/steps/step_functions.h"
#include "model/steps/step_marks.h"
#include "model/steps/step_reported.h"
#include "model/trace.h"

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Steps without a request come from ops only, and every part knows whether the trace has ops. */
static bool can_have_steps(const struct model *part, const struct step_request *request)
{
	return any_of(part->thread_count, i, part->threads[i].has_ops) ||
	       (request->source != STEP_FITTING && request->source != STEP_PROFILER &&
		request->source != STEP_OPTIMIZER);
}

static char *name_of(const struct step_candidate *candidate, const struct step_request *request,
		     const struct model *last)
{
	static const char optimizer[] = "Optimizer.step#";

	if (candidate->source == STEP_OPTIMIZER && candidate->name != NONE)
		return xstrdup(last->strings[candidate->name] + sizeof(optimizer) - 1);
	return xstrdup(request->name ? request->name : "");
}

/* Takes the list of the candidate. */
static struct step_track take_track(struct step_candidates *all, struct step_candidate *candidate,
				    const struct step_request *request, const struct model *last)
{
	const struct model_process *process = &last->processes[candidate->process];
	struct step_track track = {
		.pid = process->pid,
		.process_start_ns = process->start_ns,
		.tid = last->threads[candidate->thread].tid,
		.source = candidate->source,
		.name = name_of(candidate, request, last),
		.first_cut = candidate->source == STEP_OPTIMIZER || candidate->source == STEP_BACKWARD,
		.nests = candidate->nests && candidate->around_until_ns >= candidate->last_end_ns,
		.from_stacks = candidate->from_stacks,
		.left_out = candidate->seen - candidate->list.count,
	};

	for (size_t i = 0; i < candidate->list.count; i++)
		array_push(&track.list, candidate->list.items[i]);
	if (track.first_cut && track.list.count)
		track.list.items[0].start_ns = all->first_ns.items[candidate->process];
	/* an open step ends with the trace */
	if (track.list.count && track.list.items[track.list.count - 1].end_ns == UINT64_MAX)
		track.list.items[track.list.count - 1].end_ns = last->end_ns;
	return track;
}

static void choose_candidates(struct steps *steps, struct step_candidates *all, const struct step_request *request,
			      const struct model *last)
{
	struct step_candidate **best = xcalloc(last->process_count, sizeof(*best));

	for (enum step_source source = STEP_PROFILER; source < STEP_SOURCES; source++)
		step_candidates_choose(all, source, best);
	for (uint32_t i = 0; i < last->process_count; i++)
		if (best[i])
			array_push(&steps->tracks, take_track(all, best[i], request, last));
	free(best);
}

/* Names tracks by the function that was requested by its line. */
static void name_by_line(struct steps *steps, const struct step_request *request)
{
	if (!request->line || !steps->functions.count)
		return;
	for (size_t i = 0; i < steps->tracks.count; i++) {
		free(steps->tracks.items[i].name);
		steps->tracks.items[i].name = xstrdup(steps->functions.items[0].name);
	}
}

int steps_find(struct steps *steps, struct trace *trace, const struct step_request *request)
{
	const struct model *part = trace_first(trace), *last = part;
	struct step_candidates candidates;
	struct step_backwards backwards;
	struct step_marks marks;

	*steps = (struct steps){0};
	if (part && part->schedule.is_there && request->source == STEP_FITTING) {
		steps_of_schedule(steps, part);
		return trace->error;
	}
	if (!part || !can_have_steps(part, request))
		return trace->error;
	step_candidates_begin(&candidates, part);
	step_backwards_begin(&backwards, &candidates, request->source == STEP_BACKWARD, part);
	step_marks_begin(&marks, &candidates, &backwards, request, part);
	for (; part; part = trace_next(trace)) {
		step_marks_add_part(&marks, part);
		last = part;
	}
	if (!trace->error) {
		step_backwards_finish(&backwards, last);
		choose_candidates(steps, &candidates, request, last);
		if (request->source == STEP_FUNCTION)
			step_functions_find(steps, request, last);
		name_by_line(steps, request);
	}
	step_marks_free(&marks);
	step_backwards_free(&backwards);
	step_candidates_free(&candidates);
	return trace->error;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

void steps_free(struct steps *steps)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		free(steps->tracks.items[i].name);
		array_free(&steps->tracks.items[i].list);
	}
	array_free(&steps->tracks);
	step_functions_free(steps);
}

static bool is_of(const struct step_track *track, const struct model_process *process)
{
	return track->pid == process->pid && track->process_start_ns == process->start_ns;
}

const struct step_track *steps_of_process(const struct steps *steps, const struct model *model, uint32_t process)
{
	for (size_t i = 0; steps && i < steps->tracks.count; i++)
		if (is_of(&steps->tracks.items[i], &model->processes[process]))
			return &steps->tracks.items[i];
	return NULL;
}

uint32_t step_track_thread(const struct step_track *track, const struct model *model, uint32_t process)
{
	return value_of_first(model->thread_count, i,
			      model->threads[i].process == process && model->threads[i].tid == track->tid, i, NONE);
}

size_t step_at(const struct step *list, size_t count, uint64_t time_ns)
{
	size_t low = count_while(count, i, list[i].start_ns <= time_ns);

	return low ? low - 1 : SIZE_MAX;
}

/* Bounds of the steps to keep, by time and by number. */
struct bounds {
	uint64_t from_ns, to_ns;
	uint64_t first, last;
	uint32_t cycle; /* 0: any */
	bool renumber;
};

static void keep_in(struct step_track *track, const struct bounds *bounds)
{
	bool first_cut = false;
	size_t kept = 0;

	for (size_t i = 0; i < track->list.count; i++) {
		struct step step = track->list.items[i];

		if (step.start_ns < bounds->from_ns || step.end_ns > bounds->to_ns || step.number < bounds->first ||
		    step.number > bounds->last || (bounds->cycle && step.cycle != bounds->cycle))
			continue;
		if (bounds->renumber && track->source != STEP_PROFILER && !step.cycle)
			step.number = kept;
		first_cut = first_cut || (track->first_cut && !i);
		track->list.items[kept++] = step;
	}
	track->list.count = kept;
	track->first_cut = first_cut;
}

static void drop_empty(struct steps *steps)
{
	size_t kept = 0;

	for (size_t i = 0; i < steps->tracks.count; i++) {
		struct step_track *track = &steps->tracks.items[i];

		if (track->list.count) {
			steps->tracks.items[kept++] = *track;
			continue;
		}
		free(track->name);
		array_free(&track->list);
	}
	steps->tracks.count = kept;
}

void steps_keep_numbers(struct steps *steps, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < steps->tracks.count; i++)
		keep_in(&steps->tracks.items[i], &(struct bounds){.to_ns = UINT64_MAX, .first = first, .last = last});
	drop_empty(steps);
}

void steps_keep_cycle(struct steps *steps, uint32_t cycle)
{
	for (size_t i = 0; i < steps->tracks.count; i++)
		keep_in(&steps->tracks.items[i],
			&(struct bounds){.to_ns = UINT64_MAX, .last = UINT64_MAX, .cycle = cycle});
	drop_empty(steps);
}

/* The slice's bounds for the process of these steps. */
static struct bounds bounds_in(const struct step_track *track, const struct slice *slice, const struct model *model)
{
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct slice own;

		if (!is_of(track, &model->processes[i]) || (slice->processes && !slice->processes[i]))
			continue;
		own = slice_of_process(slice, i);
		return (struct bounds){
			.from_ns = own.from_ns, .to_ns = own.to_ns, .last = UINT64_MAX, .renumber = true};
	}
	return (struct bounds){0};
}

void steps_keep_slice(struct steps *steps, const struct slice *slice, const struct model *model)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		struct bounds bounds = bounds_in(&steps->tracks.items[i], slice, model);

		keep_in(&steps->tracks.items[i], &bounds);
	}
	drop_empty(steps);
}
