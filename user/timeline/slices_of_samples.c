/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU samples of threads (--cpu): a slice for each sample, on a row next to its thread's. */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/frames.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"

/* Until when a thread's activity is known: the end of its latest sample or wait. */
static uint64_t *known_until(struct timeline_placement *placement, const struct model *model, uint32_t thread)
{
	while (placement->known_until.count <= thread)
		array_push(&placement->known_until, model->start_ns);
	return &placement->known_until.items[thread];
}

/*
 * Applies the waits that ended by until_ns.  Waits come by end, samples by time, so each sample sees what ended before
 * it, in this part or an earlier one.
 */
static void pass_waits(struct timeline_placement *placement, const struct model *model, uint32_t *next,
		       uint64_t until_ns)
{
	uint32_t end = in_part_end(&model->waits_in_part, model->wait_count);

	for (; *next < end && model->waits[*next].end_ns <= until_ns; ++*next) {
		uint64_t *known_ns = known_until(placement, model, model->waits[*next].thread);

		if (model->waits[*next].end_ns > *known_ns)
			*known_ns = model->waits[*next].end_ns;
	}
}

/* A sample stands for the time that ended with it, minus time that is already known. */
static uint64_t start_of(const struct model_sample *sample, uint64_t known_ns)
{
	uint64_t ns = sample_ns(sample), start_ns = sample->time_ns > ns ? sample->time_ns - ns : 0;

	start_ns = start_ns > known_ns ? start_ns : known_ns;
	return start_ns < sample->time_ns ? start_ns : sample->time_ns;
}

void place_samples(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->samples;
	const struct model *model = timeline->model;
	uint32_t from = model->samples_in_part.from, end = in_part_end(&model->samples_in_part, model->sample_count);
	uint32_t wait = model->waits_in_part.from;

	placed_begin(placed, from, end);
	placement->sample_starts.count = 0;
	for (uint32_t i = from; i < end; i++) {
		const struct model_sample *sample = &model->samples[i];
		uint64_t *known_ns, start_ns;

		pass_waits(placement, model, &wait, sample->time_ns);
		known_ns = known_until(placement, model, sample->thread);
		start_ns = start_of(sample, *known_ns);
		*known_ns = sample->time_ns;
		array_push(&placement->sample_starts, start_ns);
		if (!timeline_has_thread(timeline, sample->thread))
			continue;
		placed->row_of[i - from] = slice_rows_place(&placed->rows, (struct tally_key){{sample->thread}},
							    start_ns, sample->time_ns);
	}
	pass_waits(placement, model, &wait, UINT64_MAX);
}

void label_samples(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, false, rest, sizeof(rest));
	snprintf(text, size, "thread %" PRIu32 " samples%s", track->tid, rest);
}

/* Names a sample by the innermost Python function, or by the native one if there is none. */
static void name_sample(struct draft *draft, const struct model *model, const struct model_sample *sample,
			const char *native)
{
	if (sample->stack != NONE)
		draft->slice.name.code = innermost_frame(model, sample->stack).code;
	else if (native)
		draft->slice.name.text = native;
	else
		draft->slice.name.text = sample->place == GPT_SAMPLE_KERNEL ? "(in the kernel)" : "(not known)";
}

static void visit_sample(struct visit *visit, uint32_t index)
{
	const struct timeline_placement *placement = visit->timeline->placement;
	const struct model *model = visit->timeline->model;
	const struct model_sample *sample = &model->samples[index];
	const char *function = innermost_native(model, sample->native);
	struct timeline_stack stack;
	struct draft draft;

	draft_begin(&draft, TIMELINE_CPU_SAMPLE, placed_track(&placement->samples, index),
		    placement->sample_starts.items[index - placement->samples.from], sample->time_ns);
	name_sample(&draft, model, sample, function);
	draft_number(&draft, TIMELINE_ARG_THREAD, model->threads[sample->thread].tid);
	draft_number(&draft, TIMELINE_ARG_PERIOD, sample_ns(sample));
	if (sample->place == GPT_SAMPLE_KERNEL)
		draft_arg(&draft, TIMELINE_ARG_IN_KERNEL)->truth = true;
	draft_stack(visit, &draft, sample->stack, sample->stack_state, &stack);
	if (function)
		draft_text(&draft, TIMELINE_ARG_NATIVE_FUNCTION, function);
	visit_slice(visit, &draft.slice);
}

void visit_samples(struct visit *visit)
{
	visit_placed(visit, &visit->timeline->placement->samples, visit_sample);
}
