/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text report: what the GPUs did, which Python line asked for it, which line let them idle, and how complete
 * that is.  Reads the trace only, once, so a report from a log is the same byte for byte.
 */
#ifndef GPUTRACE_REPORT_H
#define GPUTRACE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/attribution.h"
#include "model/trace.h"

struct report_options {
	unsigned width; /* columns, 0: 100; at least 80 are used */
	bool color;	/* the caller looks at isatty and NO_COLOR */
	unsigned rows;	/* per table, 0: 10 */
	struct attribution attribution;
};

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write(FILE *out, struct trace *trace, const struct report_options *options);

#endif
