/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What recording costs a step (--prove-cost): steps in windows that were recorded, against those in windows in which
 * steps were only counted. Of each pair of neighbouring windows one is recorded, which one is random; so what changes
 * slowly is in both, and what comes regularly is in neither more often. Each pair gives one difference, and their mean
 * has Student's interval of 95 %.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "model/model.h"

#define COST_PROOF_PAIRS_LEAST 5u
/* After a window's first step: CUPTI begins or ends, which is no cost of recording. */
#define COST_PROOF_SETTLES_NS 100000000u

/* A process. */
struct cost_proof_row {
	uint32_t process;
	uint64_t pairs;				/* that have steps in both windows; what follows is of these */
	uint64_t recorded_steps, counted_steps; /* without those in which a window settles */
	double recorded_ns, counted_ns;		/* of a step, the mean over windows */
	double noise_ns; /* half the interval of recorded_ns - counted_ns; NAN: there are too few pairs */
};

/* Rows only for processes that have steps. */
struct cost_proof {
	ARRAY(struct cost_proof_row) rows;
};

void cost_proof_make(struct cost_proof *proof, const struct model *model);
void cost_proof_free(struct cost_proof *proof);

/* The row with most steps; NULL: there is none. */
const struct cost_proof_row *cost_proof_main(const struct cost_proof *proof);
