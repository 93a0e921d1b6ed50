/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A whole model as a trace of many parts (model/trace.h), for tests of what reads traces: whatever they make of the
 * parts must be what they make of the whole.
 *
 * It gives no more than the contract says.  Every part has arrays and texts of its own, those of the part before are
 * overwritten and freed; of events of other parts it holds only those that its own refer to, so that indices differ
 * from part to part; texts, codes, frames and stacks end with the last that was met, the receipt is empty and gpu_ops
 * are what was seen so far, until the last part.
 */
#ifndef GPUTRACE_TRACE_CUT_H
#define GPUTRACE_TRACE_CUT_H

#include "model/trace.h"

/* Cut where N events have begun since the last cut, or as soon after as times differ; at least 1. */
struct trace *trace_cut_each(const struct model *whole, uint32_t events);

/* Cut at these times, which ascend: what begins at one is after it. */
struct trace *trace_cut_at(const struct model *whole, const uint64_t *times_ns, size_t count);

size_t trace_cut_parts(const struct trace *trace);

/* The model stays the caller's. */
void trace_cut_free(struct trace *trace);

#endif
