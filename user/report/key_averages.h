/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of ops in the form of torch.profiler's key_averages().table(): columns, widths, numbers. */
#ifndef GPUTRACE_REPORT_KEY_AVERAGES_H
#define GPUTRACE_REPORT_KEY_AVERAGES_H

#include "report/report.h"

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write_key_averages(FILE *out, struct trace *trace);

#endif
