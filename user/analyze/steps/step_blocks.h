/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training in blocks, so that sums per step can be compared with how much steps differ: the steps of a process
 * are divided into at most STEP_BLOCKS blocks of consecutive steps, and each sum is kept by block.  If there are many
 * steps, a block has many, so that correlation between neighbouring steps does not make the noise look smaller than it
 * is.
 *
 * A trace without steps is one block without a length.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "model/steps/steps.h"

#define STEP_BLOCKS 64u
#define STEP_BLOCKS_LEAST 4u /* per process, however many processes have steps */
#define STEP_BLOCK_NONE UINT32_MAX

/* The steps of a process. */
struct step_blocks_track {
	const struct step *list; /* whole steps only */
	size_t count, blocks;
	size_t first_block; /* number of its first block */
	size_t latest;	    /* index of the step found last */
};

struct step_blocks {
	ARRAY(struct step_blocks_track) tracks; /* empty for a trace without steps */
	uint32_t *of_process; /* by model.processes: its track + 1, 0: it has none; NULL: no process has one */
	uint32_t count;
	uint64_t steps, wall_ns; /* of all processes */
};

/* steps: NULL: none; must outlive the blocks. */
void step_blocks_init(struct step_blocks *all, const struct steps *steps, const struct model *first);
void step_blocks_free(struct step_blocks *all);

static inline bool step_blocks_has_steps(const struct step_blocks *all)
{
	return all->tracks.count != 0;
}

/* The number of steps of one process; 0: it has none. */
static inline size_t step_blocks_steps_of(const struct step_blocks *all, uint32_t process)
{
	return all->of_process && all->of_process[process] ? all->tracks.items[all->of_process[process] - 1].count : 0;
}

/*
 * A view of the blocks of one process, for sums of which only these blocks count; needs no step_blocks_free.  False:
 * the process has no steps; it is then the whole, if that has none either.
 */
bool step_blocks_view(const struct step_blocks *all, uint32_t process, struct step_blocks *view);

/* Whether a block is one of the view's. */
static inline bool step_blocks_has(const struct step_blocks *view, uint32_t block)
{
	const struct step_blocks_track *first = view->tracks.items;

	return view->tracks.count != 1 || (block >= first->first_block && block < first->first_block + first->blocks);
}

/* The block of the step that a process is in at that time; STEP_BLOCK_NONE: it is in no step. */
uint32_t step_blocks_at(struct step_blocks *all, uint32_t process, uint64_t time_ns);

/* The same, except that time between two steps belongs to the step before. */
uint32_t step_blocks_since(struct step_blocks *all, uint32_t process, uint64_t time_ns);

/* The steps of a block, of `steps` from `first` on in the list of its track. */
struct step_block {
	const struct step_blocks_track *track;
	size_t number; /* among the blocks of the track */
	size_t first, steps;
};

/* block: not STEP_BLOCK_NONE, of blocks that have steps. */
struct step_block step_block_at(const struct step_blocks *all, uint32_t block);

/* The mean of a value per step, and what is known of the mean's variance. */
struct estimate {
	double mean;
	double variance; /* of the mean; NAN: not known */
	double weight;	 /* sum of the squares of the variance's parts, each divided by its degrees of freedom */
};

/* by_block: the sums of the value, one per block. */
struct estimate step_blocks_estimate(const struct step_blocks *all, const double *by_block);

/* The same for the steps of one process; the mean is NAN if it has none. */
struct estimate step_blocks_estimate_of(const struct step_blocks *all, uint32_t process, const double *by_block);

/* Allocates the lengths of steps by block; wall_ns: the length of a trace without steps. */
double *step_blocks_wall(const struct step_blocks *all, uint64_t wall_ns);

/*
 * The median of a value over steps, where a block's steps have the block's mean; of several processes the mean of their
 * medians.  Its variance is known from MEDIAN_LEAST blocks on, by order statistics: Price and Bonett, Estimating the
 * variance of the sample median, J. Stat. Comput. Simul. 68 (2001).
 */
#define MEDIAN_LEAST 6u
struct estimate step_blocks_median(const struct step_blocks *all, const double *by_block);

/* Half the width of the confidence interval of a mean, of 99 %, or of 95 %; NAN: not known. */
double estimate_noise(double variance, double weight);
double estimate_noise_95(double variance, double weight);
