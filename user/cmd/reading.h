/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log, opened as the trace that the command line asks for: all of it or a slice; and spans of that for files of a
 * greatest size.  Of a log little more than the slice is read.
 */
#ifndef GPUTRACE_READING_H
#define GPUTRACE_READING_H

#include "cmd/slicing.h"
#include "log/reader.h"
#include "model/sliced_trace.h"

struct reading {
	const struct delivery *delivery;
	struct trace *trace; /* what was asked for */

	struct trace *recorded;	       /* that it is from */
	bool owns_recorded, is_long;   /* it has several parts */
	bool is_foreign;	       /* another tool's file */
	struct log_restriction wanted; /* what of the log is read */
	uint32_t *pids;
	struct slicing slicing;
	struct sliced_trace sliced;
	bool is_sliced;
	struct steps steps;		     /* of training, in what was asked for */
	uint64_t steps_from_ns, steps_to_ns; /* --steps: what all of them span */
};

/* EXIT_GOOD; else a message has said what is wrong.  Closed in any case. */
enum exit_code reading_open(struct reading *reading, const struct delivery *delivery);

/* Says that the log could not be read, by the -errno of a trace. */
enum exit_code reading_failed(const struct reading *reading, int err);

/* What of a recording begins in [from, to); 0, UINT64_MAX: as that one begins or ends.  0 or -errno of reading. */
int reading_open_span(struct reading *span, const struct reading *of, uint64_t from_ns, uint64_t to_ns);
void reading_close(struct reading *reading);

#endif
