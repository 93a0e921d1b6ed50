/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Source with the costs of each line in the margin, function by function, as line_profiler prints it. */
#pragma once

#include "model/trace.h"
#include "report/page/options.h"

struct lines_options {
	const char *what; /* a function or a file; NULL: the functions that own most */
	unsigned most; /* without `what`: list at most that many functions, whether they launch or not; 0: as for people
			*/
	bool live;     /* processes may still run, and their own files are used */
	char **there;  /* if `what` is not in the trace: gets the functions that are, freed by the caller; NULL */
};

/* Returns 0 or -errno when the trace could not be read, or out not written; -ENOENT: `what` is not in the trace. */
int report_write_lines(FILE *out, struct trace *trace, const struct report_options *page,
		       const struct lines_options *options);

/* The same of analyses that are finished; they need LINE_COSTS and TORCH_MEMORY. */
int report_write_lines_of(FILE *out, struct analyses *all, const struct report_options *page,
			  const struct lines_options *options);
