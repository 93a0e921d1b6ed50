/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training in blocks, so that what is summed up per step can be compared with how much steps differ: the steps
 * of a process are divided into at most STEP_BLOCKS blocks of steps that follow each other, and each sum is kept by
 * block.  A block has many steps where there are many, so that what hangs together from one step to the next does not
 * make the noise look smaller than it is.
 *
 * A trace without steps is one block without a length.
 */
#ifndef GPUTRACE_ANALYZE_STEP_BLOCKS_H
#define GPUTRACE_ANALYZE_STEP_BLOCKS_H

#include "analyze/events.h"
#include "base/array.h"
#include "model/steps/steps.h"

#define STEP_BLOCKS 64u
#define STEP_BLOCKS_LEAST 4u /* of a process, however many have steps */
#define STEP_BLOCK_NONE UINT32_MAX

/* The steps of a process. */
struct step_blocks_track {
	const struct step *list; /* whole ones */
	size_t count, blocks;
	size_t first_block; /* number of the first */
	size_t latest;	    /* step that was found last */
};

struct step_blocks {
	ARRAY(struct step_blocks_track) tracks; /* none: a trace without steps */
	uint32_t *of_process; /* by model.processes: its track + 1, 0: it has none; NULL: there are none */
	uint32_t count;
	uint64_t steps, wall_ns; /* of all processes */
};

/* steps: NULL: none; they have to stay. */
void step_blocks_init(struct step_blocks *all, const struct steps *steps, const struct model *first);
void step_blocks_free(struct step_blocks *all);

static inline bool step_blocks_has_steps(const struct step_blocks *all)
{
	return all->tracks.count != 0;
}

/* Of one process; 0: it has none. */
static inline size_t step_blocks_steps_of(const struct step_blocks *all, uint32_t process)
{
	return all->of_process && all->of_process[process] ? all->tracks.items[all->of_process[process] - 1].count : 0;
}

/* The block of the step that a process is in at that time; STEP_BLOCK_NONE: it is in none. */
uint32_t step_blocks_at(struct step_blocks *all, uint32_t process, uint64_t time_ns);

/* The same; what lies between two steps is of the one before. */
uint32_t step_blocks_since(struct step_blocks *all, uint32_t process, uint64_t time_ns);

/* Of a value per step: its mean, and what of its variance is known. */
struct estimate {
	double mean;
	double variance; /* of the mean; NAN: not known */
	double weight;	 /* sum of the squares of the variance's parts, each by its degrees of freedom */
};

/* by_block: sums of the value, one for each block. */
struct estimate step_blocks_estimate(const struct step_blocks *all, const double *by_block);

/* The same per step of one process alone, as far as it has steps; else the mean is NAN. */
struct estimate step_blocks_estimate_of(const struct step_blocks *all, uint32_t process, const double *by_block);

/* The same of how long steps take; wall_ns: of a trace without steps. */
struct estimate step_blocks_wall(const struct step_blocks *all, uint64_t wall_ns);

/* Half the width of the confidence interval of 99 % of a mean; NAN: not known. */
double estimate_noise(double variance, double weight);

#endif
