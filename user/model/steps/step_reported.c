/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/steps/step_reported.h"

#include <stdlib.h>

/* What was told of a process so far. */
struct fed {
	struct step_track track;
	uint64_t seen;
	bool is_open; /* the latest step of its list goes on */
};

static enum step_source source_of(enum gpt_step_by by)
{
	static const enum step_source sources[] = {
		[GPT_STEP_BY_FIRST] = STEP_FITTING,	  [GPT_STEP_BY_PROFILER] = STEP_PROFILER,
		[GPT_STEP_BY_OPTIMIZER] = STEP_OPTIMIZER, [GPT_STEP_BY_RANGE] = STEP_RANGE,
		[GPT_STEP_BY_BACKWARD] = STEP_BACKWARD,
	};

	return sources[by];
}

static void end_step(struct fed *fed, uint64_t time_ns)
{
	if (fed->is_open)
		fed->track.list.items[fed->track.list.count - 1].end_ns = time_ns;
	fed->is_open = false;
}

static void add(struct fed *fed, const struct model *model, const struct model_reported_step *step)
{
	struct step_track *track = &fed->track;
	size_t count = track->list.count;

	/* a process may say what it likes: its steps do not overlap */
	if (step->thread == NONE || (count && step->time_ns < track->list.items[count - 1].start_ns))
		return;
	fed->seen++;
	end_step(fed, step->time_ns);
	track->tid = model->threads[step->thread].tid;
	track->source = source_of(step->by);
	if (step->phase != GPT_STEP_ACTIVE || step->time_ns >= model->end_ns)
		return;
	array_push(&track->list, ((struct step){.start_ns = step->time_ns,
						.number = step->number,
						.cycle = step->cycle < UINT32_MAX ? step->cycle + 1 : UINT32_MAX}));
	fed->is_open = true;
}

static void take(struct steps *steps, struct fed *fed, const struct model *model, uint32_t process)
{
	end_step(fed, model->end_ns);
	steps->seen = fed->seen > steps->seen ? fed->seen : steps->seen;
	if (!fed->track.list.count)
		return;
	fed->track.pid = model->processes[process].pid;
	fed->track.process_start_ns = model->processes[process].start_ns;
	fed->track.name = xstrdup("");
	array_push(&steps->tracks, fed->track);
}

void steps_of_schedule(struct steps *steps, const struct model *model)
{
	struct fed *fed = xcalloc(model->process_count, sizeof(*fed));

	steps->scheduled = true;
	steps->schedule_first = model->schedule.first;
	for (uint32_t i = 0; i < model->reported_step_count; i++)
		add(&fed[model->reported_steps[i].process], model, &model->reported_steps[i]);
	for (uint32_t i = 0; i < model->process_count; i++)
		take(steps, &fed[i], model, i);
	free(fed);
}
