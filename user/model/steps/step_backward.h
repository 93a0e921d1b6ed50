/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds backward passes.  The engine runs a pass on its own threads or on the calling thread, and nothing reports its
 * start and end; but the thread that runs forward ops waits meanwhile.  So a pass is over when that thread continues;
 * it ended with its last op or call.
 *
 * With ops: a thread's forward ops have a sequence number and PyTorch's number of that thread; a backward op has the
 * number of its forward op's thread.  Without ops, by CUDA calls that have a stack inherited by the engine's threads,
 * or the engine's function on their own stack; the thread that continues is one whose stack has the same outermost
 * function.
 */
#pragma once

#include "model/steps/step_candidates.h"

/* Evidence that a pass is running, or that it is over. */
struct backward_mark {
	uint64_t start_ns, end_ns;
	uint64_t of; /* owner of the pass: PyTorch's number of the thread, or 1 + code of the outermost function */
	uint32_t process, thread;
	bool is_backward;
};

/* The state of a process. */
struct backward_pass {
	bool has_ops;	 /* its passes are found by ops */
	uint64_t of;	 /* 0: no pass was seen yet */
	uint32_t thread; /* the thread that continued after a pass, NONE */
	uint64_t end_ns; /* of the current pass, 0: none */
};

struct step_backwards {
	struct step_candidates *candidates;
	bool by_calls;			    /* use calls for processes without ops */
	ARRAY(struct backward_mark) marks;  /* of the current part */
	ARRAY(struct backward_pass) passes; /* by process */
	ARRAY(uint64_t) nodes_until;	    /* by thread: end of its current or latest backward op */
	ARRAY(uint8_t) stacks;		    /* by stack: enum backward_stack */
};

void step_backwards_begin(struct step_backwards *all, struct step_candidates *candidates, bool by_calls,
			  const struct model *model);
void step_backwards_free(struct step_backwards *all);

/* Adds an op that does not overlap others; a thread's ops come by start. */
void step_backwards_add_op(struct step_backwards *all, const struct model *model, const struct model_op *op);
void step_backwards_add_call(struct step_backwards *all, const struct model *model, const struct model_call *call);

/* After the events of a part. */
void step_backwards_end_part(struct step_backwards *all, const struct model *model);

/* After the last part. */
void step_backwards_finish(struct step_backwards *all, const struct model *model);
