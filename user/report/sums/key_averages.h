/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of ops in the form of torch.profiler's key_averages().table(): columns, widths, numbers. */
#pragma once

#include "report/sums/key_sorts.h"
#include "model/trace.h"
#include "report/page/options.h"

#define KEY_STACK_MAX 32u /* Python lines that can distinguish rows */

struct key_averages_options {
	const struct key_sort *sort; /* NULL: by Self CUDA or, without it, by Self CPU */
	uint64_t rows;		     /* 0: as many as torch.profiler shows */
	bool top_level;		     /* only events outside of all ops, by their first occurrence */
	bool by_shape;		     /* a row for each name and shapes of inputs */
	unsigned stack_frames;	     /* a row for each name and this many Python lines, 0: only for each name */
};

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write_key_averages(FILE *out, struct trace *trace, const struct key_averages_options *options);

/* The same rows as a table in page->format; all of them unless a number is requested.  Returns as report_write. */
int report_write_key_tables(FILE *out, struct trace *trace, const struct key_averages_options *options,
			    const struct report_options *page);
