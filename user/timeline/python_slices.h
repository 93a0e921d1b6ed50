/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When Python functions ran.  As far as the stacks of CUDA calls tell: a slice opens at the first call whose stack has
 * the function and ends with the last call of the run that has it.  Time before the first and after the last CUDA
 * call of a function is not seen, and two runs of one function from the same line with no other call between
 * them look like one.
 *
 * Where every call was traced its slices are exact, and only what was open before the trace is drawn from stacks.
 */
#ifndef GPUTRACE_TIMELINE_PYTHON_SLICES_H
#define GPUTRACE_TIMELINE_PYTHON_SLICES_H

#include <stdbool.h>

#include "base/array.h"
#include "timeline/calls_of_threads.h"

struct python_slice {
	uint64_t start_ns, end_ns;
	uint32_t code;	 /* model.codes, NONE: frames that were left out of the stacks */
	uint32_t parent; /* the slice around this one, by its place among those drawn, or traced; NONE */
	bool end_unseen; /* traced, and had not ended when the trace did */
};

/* What is drawn from the stacks of one thread, in the order of their starts.  Starts zeroed. */
struct python_slices {
	ARRAY(struct python_slice) all;
};

/* Replaces what is in `slices` by those of a thread. */
void python_slices_draw(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
			uint32_t thread);
void python_slices_free(struct python_slices *slices);

/* What was traced of one thread, one after the other in the order of their starts.  Starts zeroed. */
struct traced_slices {
	uint32_t next;
	ARRAY(uint32_t) open; /* those around the next one, outermost first */
};

bool traced_slices_next(struct traced_slices *traced, const struct model *model, uint32_t thread,
			struct python_slice *slice);
void traced_slices_free(struct traced_slices *traced);

#endif
