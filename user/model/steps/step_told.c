/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/steps/step_told.h"

#include <stdlib.h>

/* What was told of a process so far. */
struct told {
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

static void end_step(struct told *told, uint64_t time_ns)
{
	if (told->is_open)
		told->track.list.items[told->track.list.count - 1].end_ns = time_ns;
	told->is_open = false;
}

static void add(struct told *told, const struct model *model, const struct model_told_step *step)
{
	struct step_track *track = &told->track;
	size_t count = track->list.count;

	/* a process may say what it likes: its steps do not overlap */
	if (step->thread == NONE || (count && step->time_ns < track->list.items[count - 1].start_ns))
		return;
	told->seen++;
	end_step(told, step->time_ns);
	track->tid = model->threads[step->thread].tid;
	track->source = source_of(step->by);
	if (step->phase != GPT_STEP_ACTIVE || step->time_ns >= model->end_ns)
		return;
	array_push(&track->list, ((struct step){.start_ns = step->time_ns,
						.number = step->number,
						.cycle = step->cycle < UINT32_MAX ? step->cycle + 1 : UINT32_MAX}));
	told->is_open = true;
}

static void take(struct steps *steps, struct told *told, const struct model *model, uint32_t process)
{
	end_step(told, model->end_ns);
	steps->seen = told->seen > steps->seen ? told->seen : steps->seen;
	if (!told->track.list.count)
		return;
	told->track.pid = model->processes[process].pid;
	told->track.process_start_ns = model->processes[process].start_ns;
	told->track.name = xstrdup("");
	array_push(&steps->tracks, told->track);
}

void steps_of_schedule(struct steps *steps, const struct model *model)
{
	struct told *told = xcalloc(model->process_count, sizeof(*told));

	steps->scheduled = true;
	steps->schedule_first = model->schedule.first;
	for (uint32_t i = 0; i < model->told_step_count; i++)
		add(&told[model->told_steps[i].process], model, &model->told_steps[i]);
	for (uint32_t i = 0; i < model->process_count; i++)
		take(steps, &told[i], model, i);
	free(told);
}
