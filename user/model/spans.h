/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Begins and ends on threads, paired.  What nests with each other is in one lane: what a thread's interpreter does, or
 * the NVTX ranges of a thread and domain.  Each span has a depth in its lane, as an address on a stack that grows
 * downwards: what is deeper (lower) than something that begins or ends is over, and where its end did not come, that
 * was lost.  Knows nothing of what the spans are.
 */
#ifndef GPUTRACE_SPANS_H
#define GPUTRACE_SPANS_H

#include "base/array.h"
#include "model/events.h"

struct open_span {
	uint64_t depth;
	uint32_t index; /* in the list */
};

struct span_lane {
	ARRAY(struct open_span) open; /* the outermost first */
};

struct spans {
	ARRAY(struct model_span) list; /* in order of begins; those without an end are `truncated` */
	ARRAY(struct span_lane) lanes;
	uint64_t lost; /* begins whose end was not seen although it must have come */
};

#define SPAN_DEPTH_OUTERMOST UINT64_MAX

void spans_free(struct spans *spans); /* all but the list, which is the model's */

/* A depth below all that is open in the lane, for what nests by its order alone; and that of the last one begun. */
uint64_t spans_next_depth(struct spans *spans, uint32_t lane);
uint64_t spans_last_depth(struct spans *spans, uint32_t lane);

/* A span begins at its start_ns.  False: there are more than can be. */
bool spans_begin(struct spans *spans, uint32_t lane, uint64_t depth, const struct model_span *span);

/* What is open at that depth, and of that kind, ends; nothing where its begin was not seen. */
void spans_end(struct spans *spans, uint32_t lane, uint64_t depth, enum model_span_kind kind, uint64_t time_ns);

/* One that is in no lane: its index, and its end.  False: it would end before it began. */
uint32_t spans_add(struct spans *spans, const struct model_span *span);
bool spans_end_at(struct spans *spans, uint32_t index, uint64_t time_ns);

/* What is open in the lane lasts until then, and is `truncated`. */
void spans_close_lane(struct spans *spans, uint32_t lane, uint64_t time_ns);

/* Where the spans of a thread are in an ordered list. */
struct span_place {
	uint32_t first, count;
};

/*
 * After the last one: leaves out what was lost, puts each thread's together, in the order of the list; one place for
 * each thread, to be freed.
 */
struct span_place *spans_order_by_thread(struct spans *spans, size_t threads);

#endif
