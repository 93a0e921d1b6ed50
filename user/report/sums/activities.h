/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nvprof's output: every GPU activity in the order in which they began, and sums of GPU activities and of CUDA calls by
 * name.  The list is written while the trace is read: memory does not depend on its length.
 */
#pragma once

#include "model/trace.h"
#include "report/page/options.h"

enum activity_list {
	LIST_GPU_TRACE = 1 << 0,
	LIST_GPU_SUM = 1 << 1,
	LIST_API_SUM = 1 << 2,
};

/* lists: a sum of enum activity_list.  Returns as report_write. */
int report_write_activities(FILE *out, struct trace *trace, const struct report_options *options, unsigned lists);
