/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time and launches by what launched them, per step of training, so that two traces can be compared.  Work belongs
 * to the step in which it was launched.  How much a value varies is seen from blocks of steps: those of a process are
 * divided into at most PER_STEP_BLOCKS blocks of steps that follow each other, and each sum is kept by block.  A block
 * has many steps where there are many, so that what hangs together from one step to the next does not make the noise
 * look smaller than it is.
 *
 * A trace without steps is one block without a length.
 */
#ifndef GPUTRACE_ANALYZE_PER_STEP_H
#define GPUTRACE_ANALYZE_PER_STEP_H

#include "analyze/events.h"
#include "analyze/gpu_tally.h"
#include "analyze/op_tree.h"
#include "base/array.h"
#include "base/tally.h"
#include "model/steps.h"

#define PER_STEP_BLOCKS 64u
#define PER_STEP_BLOCKS_LEAST 4u /* of a process, however many have steps */

/* The steps of a process. */
struct per_step_track {
	const struct step *list; /* whole ones */
	size_t count, blocks;
	size_t first_block; /* number of the first */
	size_t latest;	    /* step that was found last */
};

struct per_step {
	const struct model *model;
	ARRAY(struct per_step_track) tracks; /* none: a trace without steps */
	uint32_t *of_process; /* by model.processes: its track + 1, 0: it has none; NULL: there are none */
	uint32_t blocks;
	struct gpu_tally gpu; /* stack, or the caller of a call without one; operation_pack.h; block */
	struct tally calls;   /* the same, NONE, block: calls that put work on a GPU, in count */
	struct op_tree tree;  /* ops of PyTorch */
	struct tally ops;     /* name, annotated, block; ns: GPU time of its own, more: CPU time of its own, count */
	uint64_t outside_ns;  /* GPU time that was launched in no step */
	uint64_t wall_ns;     /* of all steps; of a trace without steps its length */
	uint64_t steps;
};

/* Stays where it is while it is in use.  steps: NULL: none; stay the caller's. */
void per_step_init(struct per_step *all, const struct steps *steps, const struct model *first);
void per_step_free(struct per_step *all);
void per_step_begin_part(struct per_step *all, const struct model *part);
void per_step_add_gpu(struct per_step *all, const struct gpu_event *event);
void per_step_add_call(struct per_step *all, const struct call_event *event);
/* The sums over GPU operations are gpu.timed from here on. */
void per_step_finish(struct per_step *all, const struct window *window);

static inline bool per_step_has_steps(const struct per_step *all)
{
	return all->tracks.count != 0;
}

/* Of a value per step: its mean, and what of its variance is known (noise.h). */
struct estimate {
	double mean;
	double variance; /* of the mean; NAN: not known */
	double weight;	 /* sum of the squares of the variance's parts, each by its degrees of freedom */
};

/* by_block: sums of the value, one for each block. */
struct estimate per_step_estimate(const struct per_step *all, const double *by_block);

/* The same of how long steps take. */
struct estimate per_step_wall(const struct per_step *all);

#endif
