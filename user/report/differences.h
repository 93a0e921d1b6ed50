/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between two traces, printed: the step, then lines, kernels and ops by how much they changed. */
#ifndef GPUTRACE_REPORT_DIFFERENCES_H
#define GPUTRACE_REPORT_DIFFERENCES_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/differences.h"

struct differences_options {
	const char *before, *after; /* names of the two */
	unsigned width, rows;	    /* 0: the usual ones; rows: of a table */
	bool color;
};

/* 0 or -errno of writing. */
int report_write_differences(FILE *out, const struct differences *all, const struct differences_options *options);

#endif
