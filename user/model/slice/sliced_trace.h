/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slice of a trace as a trace of its own: it takes parts of another trace and hands them over without the events
 * outside.  Interval, counts of calls and receipt are the slice's.  Losses have no known time, so they remain those of
 * the whole recording.  A slice by time also has the trace around it (trace.around).
 */
#pragma once

#include "base/array.h"
#include "model/totals.h"
#include "model/join/receipt.h"
#include "model/slice/slice.h"
#include "model/trace.h"

/* The counted fields of a struct model_process. */
struct sliced_process {
	uint64_t calls, gpu_ops, first_call_ns, last_call_ns;
};

struct sliced_trace {
	struct trace trace;
	struct trace *inner;
	struct slice slice;
	const char *words;		/* description of the slice, for people */
	struct sliced_trace *unbounded; /* trace.around, if the slice has more than an interval; else NULL */

	struct model part; /* handed over; everything but the arrays below is the inner part's */
	struct keep keep;
	/*
	 * capacity in bytes of each of the part's arrays of events, and number of events of each kind in earlier parts
	 */
#define SLICED_EVENTS(one, many, ...)                                                                                  \
	size_t many##_room;                                                                                            \
	uint64_t many##_number;
	MODEL_EVENTS(SLICED_EVENTS)
#undef SLICED_EVENTS
	size_t args_room, ranges_room, pycalls_room, ops_room, torch_memories_room;
	ARRAY(struct model_crossing) crossings; /* in parts since the last one handed over */
	bool is_first, is_last;
	bool is_counted; /* to_ns is known */
	uint64_t to_ns;	 /* end of the slice: of its interval, or of its GPU work if that ends later */

	/* copies of the inner part's tables, with the slice's values */
	struct model_process *processes;
	struct model_thread *threads;
	struct model_source *sources;
	struct model_span *pyspans;

	/* found once, by a separate walk */
	bool is_made;	     /* the inner trace has one part, so `part` is the whole slice */
	uint64_t first_call; /* its number in the recording; UINT64_MAX: the slice has no call */
	bool *givers;
	uint64_t *thread_calls;
	struct sliced_process *process_counts;
	struct receipt_count counts;
	struct model_receipt receipt;
	struct model_totals totals;
};

/* The slice and all it points to, `inner` and `words` remain the caller's.  Returns 0 or -errno of reading. */
int sliced_trace_open(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice, const char *words);

/*
 * The same, given the last part of inner's trace, which must stay valid: inner is then read only up to the end of the
 * slice.
 */
int sliced_trace_open_before(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice,
			     const char *words, const struct model *last);
void sliced_trace_close(struct sliced_trace *sliced);
