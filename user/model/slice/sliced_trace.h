/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slice of a trace as a trace of its own: parts come from another trace and are handed over without what lies
 * outside.  Its span, its counts of calls and its receipt are those of the slice; what was lost cannot be placed in
 * time, so losses stay those of all that was recorded.
 */
#ifndef GPUTRACE_MODEL_SLICED_TRACE_H
#define GPUTRACE_MODEL_SLICED_TRACE_H

#include "model/totals.h"
#include "model/join/receipt.h"
#include "model/slice/slice.h"
#include "model/trace.h"

/* What of a struct model_process is counted. */
struct sliced_process {
	uint64_t calls, gpu_ops, first_call_ns, last_call_ns;
};

struct sliced_trace {
	struct trace trace;
	struct trace *inner;
	struct slice slice;
	const char *words; /* what of the recording it is, for people */

	struct model part; /* handed over; what it holds beside the arrays below is the inner part's */
	struct keep keep;
	/* bytes after each of the part's arrays of events, and how many of each kind earlier parts had */
#define SLICED_EVENTS(one, many, ...)                                                                                  \
	size_t many##_room;                                                                                            \
	uint64_t many##_number;
	MODEL_EVENTS(SLICED_EVENTS)
#undef SLICED_EVENTS
	size_t args_room, ranges_room, pycalls_room, ops_room, torch_memories_room;
	bool is_first, is_last;

	/* the inner part's, with what is the slice's */
	struct model_process *processes;
	struct model_thread *threads;
	struct model_source *sources;
	struct model_span *pyspans;

	/* found once, by a round of their own */
	bool is_made;	     /* the inner trace has one part, and so `part` is all of the slice */
	uint64_t first_call; /* its place in the recording; UINT64_MAX: no call is in the slice */
	bool *givers;
	uint64_t *thread_calls;
	struct sliced_process *process_counts;
	struct receipt_count counts;
	struct model_receipt receipt;
	struct model_totals totals;
};

/* The slice, and what it points to, stay the caller's, as do trace and words.  0 or -errno of reading. */
int sliced_trace_open(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice, const char *words);

/* The same with the last part of what inner is of, another's that stays at hand: inner is read no further than the
 * slice. */
int sliced_trace_open_before(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice,
			     const char *words, const struct model *last);
void sliced_trace_close(struct sliced_trace *sliced);

#endif
