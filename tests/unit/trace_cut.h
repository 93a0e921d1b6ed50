/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A whole model as a trace of many parts (model/trace.h), for tests of trace readers: their result for the parts must
 * equal their result for the whole.
 *
 * It gives no more than the contract says. Every part has its own arrays and texts; those of the previous part are
 * overwritten and freed. Of other parts' events it holds only those that its own events refer to, so indices differ
 * from part to part. Until the last part, the texts, codes, frames and stacks end with the last one met, the receipt is
 * empty, and gpu_ops counts what was seen so far.
 */
#pragma once

#include "model/trace.h"

/* Cuts after every N events (at least 1), or as soon after that as times differ. */
struct trace *trace_cut_each(const struct model *whole, uint32_t events);

/* Cuts at these ascending times: an event that begins at a cut belongs to the part after it. */
struct trace *trace_cut_at(const struct model *whole, const uint64_t *times_ns, size_t count);

size_t trace_cut_parts(const struct trace *trace);

/* The caller keeps the model. */
void trace_cut_free(struct trace *trace);
