/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The report, as text or as tables for programs (table_writer.h): what the GPUs did, which Python line requested it,
 * which line let them idle, and how complete that is.  It reads only the trace, once, so a report from a log is the
 * same byte for byte, but for the log's name in the next command.
 */
#pragma once

#include <stdio.h>

#include "model/trace.h"
#include "report/page/options.h"

/*
 * Returns 0 or -errno when the trace could not be read, or out not written; -ENOENT when it has no table of the
 * requested name.
 */
int report_write(FILE *out, struct trace *trace, const struct report_options *options);

/* The same of analyses that are finished: analyses_of_report, if of use. */
int report_write_of(FILE *out, struct analyses *all, const struct report_options *options);
