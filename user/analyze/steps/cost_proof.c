/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/steps/cost_proof.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/steps/step_blocks.h"

struct window_sum {
	uint64_t steps;
	double ns;
};

/* What is known of a process so far. */
struct progress {
	struct cost_proof_row row;
	bool has_step;
	struct model_reported_step latest;
	bool is_first;	    /* the latest step is its window's first */
	uint64_t window_ns; /* when that one began */
	uint32_t pair;	    /* of the sums */
	struct window_sum counted, recorded;
	double mean, squares; /* of the differences of pairs: Welford's */
};

static void finish_pair(struct progress *of)
{
	struct cost_proof_row *row = &of->row;
	double counted, recorded, off;

	if (of->counted.steps && of->recorded.steps) {
		row->pairs++;
		row->counted_steps += of->counted.steps;
		row->recorded_steps += of->recorded.steps;
		counted = of->counted.ns / (double)of->counted.steps;
		recorded = of->recorded.ns / (double)of->recorded.steps;
		row->counted_ns += (counted - row->counted_ns) / (double)row->pairs;
		row->recorded_ns += (recorded - row->recorded_ns) / (double)row->pairs;
		off = recorded - counted - of->mean;
		of->mean += off / (double)row->pairs;
		of->squares += off * (recorded - counted - of->mean);
	}
	of->counted = of->recorded = (struct window_sum){0};
}

/* The latest step ends where this one begins. */
static void add_latest(struct progress *of, const struct model_reported_step *next)
{
	const struct model_reported_step *step = &of->latest;
	bool is_recorded = step->phase == GPT_STEP_ACTIVE;
	struct window_sum *sum = is_recorded ? &of->recorded : &of->counted;

	if (of->is_first || next->after_lost || next->time_ns < step->time_ns ||
	    step->time_ns - of->window_ns < COST_PROOF_SETTLES_NS || (!is_recorded && step->phase != GPT_STEP_WAITING))
		return;
	sum->steps++;
	sum->ns += (double)(next->time_ns - step->time_ns);
}

static void add_step(struct progress *of, const struct model_reported_step *step)
{
	if (of->has_step)
		add_latest(of, step);
	of->is_first = !of->has_step || step->cycle != of->latest.cycle;
	if (of->is_first)
		of->window_ns = step->time_ns;
	if (of->has_step && step->cycle / 2 != of->pair)
		finish_pair(of);
	of->pair = step->cycle / 2;
	of->latest = *step;
	of->has_step = true;
}

/* The last pair may lack a part of its windows, which no more than shortens it. */
static void finish_progress(struct progress *of)
{
	double variance;

	finish_pair(of);
	of->row.noise_ns = NAN;
	if (of->row.pairs < COST_PROOF_PAIRS_LEAST)
		return;
	variance = of->squares / (double)(of->row.pairs - 1) / (double)of->row.pairs;
	of->row.noise_ns = estimate_noise_95(variance, variance * variance / (double)(of->row.pairs - 1));
}

void cost_proof_make(struct cost_proof *proof, const struct model *model)
{
	AUTO_FREE struct progress *all = xcalloc(model->process_count, sizeof(*all));

	*proof = (struct cost_proof){0};
	for (uint32_t i = 0; i < model->reported_step_count; i++)
		add_step(&all[model->reported_steps[i].process], &model->reported_steps[i]);
	for (uint32_t i = 0; i < model->process_count; i++) {
		if (!all[i].has_step)
			continue;
		finish_progress(&all[i]);
		all[i].row.process = i;
		array_push(&proof->rows, all[i].row);
	}
}

void cost_proof_free(struct cost_proof *proof)
{
	array_free(&proof->rows);
}

const struct cost_proof_row *cost_proof_main(const struct cost_proof *proof)
{
	const struct cost_proof_row *found = NULL;

	array_each (row, &proof->rows) {
		if (!found || row->counted_steps + row->recorded_steps > found->counted_steps + found->recorded_steps)
			found = row;
	}
	return found;
}
