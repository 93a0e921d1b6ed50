/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/steps/step_reported.h"

#include <stdlib.h>

/* The steps that a process has reported so far. */
struct process_steps {
	struct step_track track;
	uint64_t seen;
	bool is_open; /* the latest step in the list has not ended */
};

static enum step_source source_of(enum gpt_step_by by)
{
	static const enum step_source sources[] = {
		[GPT_STEP_BY_FIRST] = STEP_FITTING,	  [GPT_STEP_BY_PROFILER] = STEP_PROFILER,
		[GPT_STEP_BY_OPTIMIZER] = STEP_OPTIMIZER, [GPT_STEP_BY_RANGE] = STEP_RANGE,
		[GPT_STEP_BY_BACKWARD] = STEP_BACKWARD,	  [GPT_STEP_BY_CAPTURE] = STEP_CAPTURE,
	};

	return sources[by];
}

static void end_step(struct process_steps *steps_of, uint64_t time_ns)
{
	if (steps_of->is_open)
		steps_of->track.list.items[steps_of->track.list.count - 1].end_ns = time_ns;
	steps_of->is_open = false;
}

static void add_report(struct process_steps *steps_of, const struct model *model,
		       const struct model_reported_step *step)
{
	struct step_track *track = &steps_of->track;
	size_t count = track->list.count;

	/* reports are not trusted: drops steps that would overlap */
	if (step->thread == NONE || (count && step->time_ns < track->list.items[count - 1].start_ns))
		return;
	steps_of->seen++;
	end_step(steps_of, step->time_ns);
	track->tid = model->threads[step->thread].tid;
	track->source = source_of(step->by);
	if (step->phase != GPT_STEP_ACTIVE || step->time_ns >= model->end_ns)
		return;
	array_push(&track->list, ((struct step){.start_ns = step->time_ns,
						.number = step->number,
						.cycle = step->cycle < UINT32_MAX ? step->cycle + 1 : UINT32_MAX}));
	steps_of->is_open = true;
}

static void take_track(struct steps *steps, struct process_steps *steps_of, const struct model *model, uint32_t process)
{
	end_step(steps_of, model->end_ns);
	steps->seen = steps_of->seen > steps->seen ? steps_of->seen : steps->seen;
	if (!steps_of->track.list.count)
		return;
	steps_of->track.pid = model->processes[process].pid;
	steps_of->track.process_start_ns = model->processes[process].start_ns;
	steps_of->track.name = xstrdup("");
	array_push(&steps->tracks, steps_of->track);
}

void steps_of_schedule(struct steps *steps, const struct model *model)
{
	struct process_steps *steps_of = xcalloc(model->process_count, sizeof(*steps_of));

	steps->scheduled = true;
	steps->schedule_first = model->schedule.first;
	steps->captured = model->schedule.is_capture;
	for (uint32_t i = 0; i < model->reported_step_count; i++)
		add_report(&steps_of[model->reported_steps[i].process], model, &model->reported_steps[i]);
	for (uint32_t i = 0; i < model->process_count; i++)
		take_track(steps, &steps_of[i], model, i);
	free(steps_of);
}
