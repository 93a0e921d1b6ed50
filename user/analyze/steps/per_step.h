/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time, calls and waits by caller, per step of training (step_blocks.h), so that two traces can be compared.  Work
 * belongs to the step in which it was launched.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/sums/gpu_tally.h"
#include "analyze/tree/op_tree.h"
#include "model/comm_kernels.h"
#include "analyze/steps/step_blocks.h"
#include "base/tally.h"

/* What an operation is. */
enum per_step_work { PER_STEP_COMPUTATION, PER_STEP_COMMUNICATION, PER_STEP_COPY };

#define PER_STEP_WORK_BITS 2u

/* What and on which GPU, as part of a key; a GPU's number has 30 bits here. */
static inline uint32_t per_step_what(enum per_step_work work, uint32_t device)
{
	return (uint32_t)work | device << PER_STEP_WORK_BITS;
}

static inline enum per_step_work per_step_work_of(uint32_t what)
{
	return (enum per_step_work)(what & ((1u << PER_STEP_WORK_BITS) - 1));
}

/* device: NONE: any. */
static inline bool per_step_is_on(uint32_t what, uint32_t device)
{
	return device == NONE || (what ^ device << PER_STEP_WORK_BITS) < 1u << PER_STEP_WORK_BITS;
}

struct per_step {
	const struct model *model;
	struct step_blocks *blocks;
	struct comm_names comm_names;
	struct gpu_tally gpu; /* stack, or the caller of a call without one; operation_pack.h; block; per_step_what */
	struct tally layer_sources; /* stack or caller, stack of the graph's launch, call_pass; numbered for: */
	struct gpu_tally layers;    /* layer_sources, operation_pack.h, block, per_step_what */
	/*
	 * stack or caller, call_pass, block: calls that put work on a GPU; count: all, more: kernels and
	 * graphs
	 */
	struct tally calls;
	struct tally waits;  /* stack or caller, api, block: calls that waited for a GPU */
	struct op_tree tree; /* ops of PyTorch */
	struct tally ops;    /* name, annotated, block; ns: own GPU time, more: own CPU time, count */
	uint64_t outside_ns; /* GPU time launched outside of steps */
	uint64_t wall_ns;    /* of all steps; length of a trace without steps */
};

/* Must not move while in use; nor may the blocks. */
void per_step_init(struct per_step *all, struct step_blocks *blocks, const struct model *first,
		   const struct comm_kernels *comm);
void per_step_free(struct per_step *all);
void per_step_begin_part(struct per_step *all, const struct model *part);
void per_step_add_gpu(struct per_step *all, const struct gpu_event *event);
void per_step_add_call(struct per_step *all, const struct call_event *event);
/* From here on gpu.timed holds all sums over GPU operations. */
void per_step_finish(struct per_step *all, const struct window *window);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_PER_STEP(X)                                                                                           \
	X(PER_STEP, begin, per_step_init(&all->per_step, &all->blocks, event->first, all->comm_names))                 \
	X(PER_STEP, part, per_step_begin_part(&all->per_step, event->part))                                            \
	X(PER_STEP, call, per_step_add_call(&all->per_step, event))                                                    \
	X(PER_STEP, gpu, per_step_add_gpu(&all->per_step, event))                                                      \
	X(PER_STEP, op, op_tree_add_op(&all->per_step.tree, event))                                                    \
	X(PER_STEP, finish, per_step_finish(&all->per_step, &all->window))                                             \
	X(PER_STEP, free, per_step_free(&all->per_step))
