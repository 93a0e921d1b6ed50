/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of calls as text: Python functions, ops of PyTorch and what ran, with time and share of each. */
#pragma once

#include "analyze/tree/call_tree.h"
#include "model/trace.h"
#include "report/page/options.h"

#define TREE_DEPTH_MAX 10000u

struct tree_options {
	enum tree_by by;
	bool all_frames;      /* including those of libraries */
	uint32_t min_percent; /* nodes below this are left out; thousandths of a percent */
	unsigned depth;	      /* levels below the first line, 0: all */
};

#define TREE_MIN_PERCENT 1000u /* the default */

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write_tree(FILE *out, struct trace *trace, const struct report_options *page,
		      const struct tree_options *options);
