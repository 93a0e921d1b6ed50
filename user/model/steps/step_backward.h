/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Backward passes.  The engine runs one on threads of its own or on the thread that asked for it, and nothing reports
 * its begin and end; but the thread that runs forward ops waits meanwhile.  So a pass is over when that thread goes on:
 * at the end of what was the last of it.
 *
 * By ops: a thread's forward ops have a sequence number and PyTorch's number of that thread; a backward op names the
 * thread of its forward one.  Without ops, by CUDA calls: on stacks that the engine's threads have inherited, or with
 * the engine's function on their own; the thread that goes on is one whose stack has the same outermost function.
 */
#ifndef GPUTRACE_MODEL_STEP_BACKWARD_H
#define GPUTRACE_MODEL_STEP_BACKWARD_H

#include "model/steps/step_candidates.h"

/* What says that a pass begins, or that it is over. */
struct backward_mark {
	uint64_t start_ns, end_ns;
	uint64_t of; /* whose pass: PyTorch's number of the thread, or 1 + code of the outermost function */
	uint32_t process, thread;
	bool is_backward;
};

/* Of a process. */
struct backward_pass {
	bool has_ops;	 /* its passes are found by them */
	uint64_t of;	 /* 0: no pass was seen yet */
	uint32_t thread; /* that went on after one, NONE */
	uint64_t end_ns; /* of the current pass, 0: none */
};

struct step_backwards {
	struct step_candidates *candidates;
	bool by_calls;			    /* where a process has no ops */
	ARRAY(struct backward_mark) marks;  /* of the current part */
	ARRAY(struct backward_pass) passes; /* by process */
	ARRAY(uint64_t) nodes_until;	    /* by thread: the end of the backward op that it is in, or was in last */
	ARRAY(uint8_t) stacks;		    /* by stack: enum backward_stack */
};

void step_backwards_begin(struct step_backwards *all, struct step_candidates *candidates, bool by_calls,
			  const struct model *model);
void step_backwards_free(struct step_backwards *all);

/* An op that is no part of what overlaps; a thread's by start. */
void step_backwards_add_op(struct step_backwards *all, const struct model *model, const struct model_op *op);
void step_backwards_add_call(struct step_backwards *all, const struct model *model, const struct model_call *call);

/* After what a part has. */
void step_backwards_end_part(struct step_backwards *all, const struct model *model);

/* After the last. */
void step_backwards_finish(struct step_backwards *all, const struct model *model);

#endif
