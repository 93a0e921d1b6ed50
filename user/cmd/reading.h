/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log, opened as the trace that the command line asks for: all of it or a slice; and spans of that for files of a
 * greatest size.  Of a log little more than the slice is read.
 */
#ifndef GPUTRACE_READING_H
#define GPUTRACE_READING_H

#include "cmd/deliver.h"
#include "cmd/slicing.h"
#include "log/reader.h"
#include "model/parts/rolling_trace.h"
#include "model/slice/sliced_trace.h"

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
	struct step_value recorded_step;     /* by what the recording found them; or nothing */
	struct steps steps;		     /* of training, in what was asked for */
	uint64_t steps_from_ns, steps_to_ns; /* --steps: what all of them span */
};

/* EXIT_GOOD; else a message has said what is wrong.  Closed in any case. */
enum exit_code reading_open(struct reading *reading, const struct delivery *delivery);

/* Says that the log could not be read, by the -errno of a trace. */
enum exit_code reading_failed(const struct reading *reading, int err);

void reading_close(struct reading *reading);

/*
 * Spans of a reading, one after the other, each later than the one before.  A long log is read for all of them
 * together: the reading itself goes to its end, of which the receipts are; two more rounds, by what it has collected,
 * count what is in each span and hand it over.  One that is tried again, shorter, is read again.
 */
struct spans {
	const struct reading *of;
	struct trace *counted, *handed; /* of a long log; NULL: the reading's own does */
	const struct model *last;	/* part of the reading, which stays there */
	struct rolling_trace counting, handing;
};

/* 0 or -errno of reading.  Closed in any case; the reading stays as long. */
int spans_open(struct spans *spans, const struct reading *of);
void spans_close(struct spans *spans);

/*
 * What begins in [from, to); 0, UINT64_MAX: as the reading begins or ends.  Closed, in any case, before the next one is
 * taken.  0 or -errno of reading.
 */
int spans_take(struct spans *spans, struct reading *span, uint64_t from_ns, uint64_t to_ns);

#endif
