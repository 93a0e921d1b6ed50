/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `gputrace why`: the three largest losses of a trace in words; or that nothing needs fixing; or that it cannot be
 * said, and what to record for it.
 */
#pragma once

#include "model/trace.h"
#include "report/page/options.h"

/* Returns as report_write. */
int report_write_why(FILE *out, struct trace *trace, const struct report_options *options);

/* The same of analyses that are finished; they need WHY, UNTIMED, THREADS, UTILIZATION and TORCH_MEMORY. */
int report_write_why_of(FILE *out, struct analyses *all, const struct report_options *options);
