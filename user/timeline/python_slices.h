/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When Python functions ran.  As far as the stacks of CUDA calls show: a slice opens at the first call whose stack has
 * the function and ends with the last call of the run that has it.  Time before the first and after the last CUDA
 * call of a function is not seen, and two runs of one function from the same line with no other call between
 * them look like one.
 *
 * Where every call was traced its slices are exact, and only what was open before the trace is drawn from stacks.
 *
 * A slice that is open when a part of the trace ends is remembered, and comes with the part in which it ends.
 */
#ifndef GPUTRACE_TIMELINE_PYTHON_SLICES_H
#define GPUTRACE_TIMELINE_PYTHON_SLICES_H

#include <stdbool.h>

#include "base/array.h"
#include "timeline/calls_of_threads.h"

struct python_slice {
	uint64_t start_ns, end_ns;
	uint64_t id;	 /* from 1, in the order in which slices open */
	uint64_t parent; /* the id of the slice around this one, 0: none */
	uint32_t code;	 /* model.codes, NONE: frames that were left out of the stacks */
	bool end_unseen; /* traced, and had not ended when the trace did */
};

/* A frame that still runs, as far as stacks show. */
struct open_frame {
	uint32_t code, line;
	uint32_t place;		   /* of its slice among those drawn in this part */
	struct python_slice slice; /* between parts */
};

/* A traced function that runs when a part ends. */
struct open_function {
	uint64_t number; /* model_span.number */
	uint64_t id, parent;
	uint64_t end_ns;
};

/* What is remembered of a thread. */
struct python_thread {
	ARRAY(struct open_frame) frames; /* outermost first; all of them end where the last call did */
	uint64_t end_ns;
	uint32_t stack;		  /* of the last call; NONE */
	bool around, around_open; /* the last call was in a traced function, which is the outermost; it still runs */
	uint64_t around_number;	  /* that one's model_span.number */
	ARRAY(struct open_function) functions; /* outermost first */
};

/* Starts zeroed. */
struct python_slices {
	struct python_thread *threads; /* by thread of the model */
	uint32_t thread_count;
	uint64_t last_id;
	ARRAY(struct python_slice) drawn;
	ARRAY(uint32_t) traced_open;
};

void python_slices_begin(struct python_slices *slices, uint32_t thread_count);
void python_slices_free(struct python_slices *slices);

/*
 * Replaces slices->drawn by what is drawn from the stacks of a thread, by start: that which ends in the current part,
 * or with the last part all that is left.
 */
void python_slices_draw(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
			uint32_t thread, bool last);

/* What was traced of one thread in the current part, one after the other by start.  Starts zeroed. */
struct traced_slices {
	uint32_t next;
	size_t remembered;		  /* of those open before this part, how many were met */
	ARRAY(struct open_function) open; /* those around the next one, outermost first */
	ARRAY(struct open_function) kept; /* for the next part */
};

/* The next one that ends in this part; those that do not are remembered once there is none left. */
bool traced_slices_next(struct traced_slices *traced, struct python_slices *slices, const struct model *model,
			uint32_t thread, bool last, struct python_slice *slice);
void traced_slices_free(struct traced_slices *traced);

#endif
