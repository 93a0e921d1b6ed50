/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace for a caller that walks one span of it after another, each later than the one before.  A walk starts with the
 * part in which its span starts, which is still the current part if the previous span ended in it.  So all spans
 * together take one walk.  A span that starts earlier works, too, but takes a new walk from the start.
 */
#pragma once

#include "model/trace.h"

struct rolling_trace {
	struct trace trace;
	struct trace *inner;
	uint64_t from_ns;   /* start of the span, set by the caller: parts that end earlier are skipped */
	uint64_t passed_ns; /* start of the current part, 0: no part precedes it */
};

/* inner remains the caller's, who must not use it meanwhile. */
void rolling_trace_open(struct rolling_trace *rolling, struct trace *inner);
