/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace for one who wants span after span of it, each later than the one before: a round begins with the part in
 * which the span does, and that is at hand where the span before has ended.  So all spans together are one round.  A
 * span that begins earlier is had, too, by a round from the begin.
 */
#ifndef GPUTRACE_MODEL_ROLLING_TRACE_H
#define GPUTRACE_MODEL_ROLLING_TRACE_H

#include "model/trace.h"

struct rolling_trace {
	struct trace trace;
	struct trace *inner;
	uint64_t from_ns;   /* the span begins: parts that end before are left out; the caller sets it */
	uint64_t passed_ns; /* where the current part begins, 0: nothing is before it */
};

/* inner stays the caller's, who asks it for nothing meanwhile. */
void rolling_trace_open(struct rolling_trace *rolling, struct trace *inner);

#endif
