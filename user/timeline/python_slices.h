/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When Python functions ran, from the stacks of CUDA calls: a slice opens at the first call whose stack has the
 * function, and ends with the last of the consecutive calls that have it.  Time before the first and after the last
 * CUDA call of a function is not seen, and two runs of a function from the same line with no other call between them
 * look like one.  A call of a module of PyTorch is a slice around its function.
 *
 * If every Python call was traced, slices are exact, and only functions that were open before the trace are drawn from
 * stacks.
 *
 * A slice that is open at the end of a part is remembered, and handed over with the part in which it ends.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "timeline/rows/calls_of_threads.h"

struct python_slice {
	uint64_t start_ns, end_ns;
	uint64_t id;	 /* from 1, in the order in which slices open */
	uint64_t parent; /* the id of the slice around this one, 0: none */
	uint32_t code;	 /* model.codes, NONE: frames that are missing from the stacks, or a module */
	uint32_t module; /* model.modules: it is a call of that; NONE: a function */
	bool end_unseen; /* traced, and still open at the end of the trace */
};

/* A frame that is still running, as far as stacks show. */
struct open_frame {
	uint32_t code, line, module;
	uint32_t place;		   /* index of its slice in `drawn` of this part */
	struct python_slice slice; /* between parts */
};

/* A traced function that is running at the end of a part. */
struct open_function {
	uint64_t number; /* model_span.number */
	uint64_t id, parent;
	uint64_t end_ns;
};

/* The state remembered for a thread. */
struct python_thread {
	ARRAY(struct open_frame) frames; /* outermost first; all end at the end of the last call */
	uint64_t end_ns;
	uint32_t stack;		  /* of the last call; NONE */
	bool around, around_open; /* the last call was in an outermost traced function; that one is still running */
	uint64_t around_number;	  /* that function's model_span.number */
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
 * Replaces slices->drawn by the slices from a thread's stacks, by start: those that end in the current part, or with
 * the last part all remaining ones.
 */
void python_slices_draw(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
			uint32_t thread, bool last);

/* Iterates over a thread's traced functions in the current part, by start.  Starts zeroed. */
struct traced_slices {
	uint32_t next;
	size_t remembered;		  /* how many of the functions open before this part were reached */
	ARRAY(struct open_function) open; /* functions around the next one, outermost first */
	ARRAY(struct open_function) kept; /* for the next part */
};

/* The next function that ends in this part.  After the last one, functions that do not end here are remembered. */
bool traced_slices_next(struct traced_slices *traced, struct python_slices *slices, const struct model *model,
			uint32_t thread, bool last, struct python_slice *slice);
void traced_slices_free(struct traced_slices *traced);
