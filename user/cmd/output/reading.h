/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log, opened as the trace that the command line asks for: all of it or a slice; and spans of that for files with a
 * size limit.  Reads little more of a log than the slice.
 */
#pragma once

#include "cmd/output/deliver.h"
#include "cmd/output/slicing.h"
#include "log/reader.h"
#include "model/parts/rolling_trace.h"
#include "model/slice/sliced_trace.h"

struct reading {
	const struct delivery *delivery;
	struct trace *trace; /* what was asked for */

	const struct reading *whole;   /* of reading_open_slice; NULL */
	struct trace *recorded;	       /* the log's trace, of which `trace` may be a slice */
	bool owns_recorded, is_long;   /* is_long: it has several parts */
	bool is_foreign;	       /* it is another tool's file */
	struct log_restriction wanted; /* the segments of the log that are read */
	uint32_t *pids;
	struct slicing slicing;
	struct sliced_trace sliced;
	bool is_sliced;
	struct step_value recorded_step;     /* --step of the recording, or nothing */
	struct steps steps;		     /* steps of training in `trace` */
	uint64_t steps_from_ns, steps_to_ns; /* --steps: start of the first, end of the last */
};

/* EXIT_GOOD; else a message has said what is wrong.  Closed in any case. */
enum exit_code reading_open(struct reading *reading, const struct delivery *delivery);

/*
 * As reading_open, of the slice of the same log that the delivery's options choose by time, without steps.  whole: a
 * reading of all of it, which must outlive this one.
 */
enum exit_code reading_open_slice(struct reading *reading, const struct delivery *delivery,
				  const struct reading *whole);

/* Prints that the log could not be read; err: the -errno of a trace. */
enum exit_code reading_failed(const struct reading *reading, int err);

void reading_close(struct reading *reading);

/*
 * Spans of a reading, one after the other, each later than the one before.  A long log is read once for all of them:
 * the reading itself goes to its end, for the receipts.  Two more rounds use what it has collected: one counts what is
 * in each span, the other hands it over.  A span that is tried again, shorter, is read again.
 */
struct spans {
	const struct reading *of;
	struct trace *counted, *handed; /* the two rounds over a long log; NULL: the reading's own trace is used */
	const struct model *last;	/* last part of the reading, which stays valid */
	struct rolling_trace counting, handing;
};

/* 0 or -errno of reading.  Close it in any case; the reading must stay open until then. */
int spans_open(struct spans *spans, const struct reading *of);
void spans_close(struct spans *spans);

/*
 * Opens as `span` what begins in [from, to); 0, UINT64_MAX: from the start, to the end of the reading.  Close `span`,
 * in any case, before taking the next one.  0 or -errno of reading.
 */
int spans_take(struct spans *spans, struct reading *span, uint64_t from_ns, uint64_t to_ns);
