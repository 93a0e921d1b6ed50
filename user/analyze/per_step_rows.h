/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace did per step as rows that outlive it, each with a key by which the row of another trace is known as the
 * same: a line by its file, function and how far it stands below the function's first line, so that what was edited
 * above a function does not matter; a kernel by its family; an op by its name; a stack by functions and files.
 */
#ifndef GPUTRACE_ANALYZE_PER_STEP_ROWS_H
#define GPUTRACE_ANALYZE_PER_STEP_ROWS_H

#include "analyze/analyses.h"
#include "analyze/per_step.h"

struct per_step_row {
	char *key;
	char *place, *name; /* of a line: where, and its function; else name alone, place is "" */
	struct estimate gpu_ns, launches;
};

/* Sorted by key, no key twice. */
struct per_step_rows {
	ARRAY(struct per_step_row) list;
};

/* Of one trace. */
struct per_step_tables {
	bool has_steps, has_gpu, has_ops; /* has_gpu: there are GPU operations */
	uint64_t steps, wall_ns, outside_ns;
	struct estimate wall, gpu_ns, launches; /* a step; launches: calls that put work on a GPU */
	struct per_step_rows lines;		/* the innermost line of the user's own code, where there is one */
	struct per_step_rows kernels;		/* launches: how many ran */
	struct per_step_rows ops;		/* GPU time of its own; launches: how many ops */
	struct per_step_rows stacks;
};

/* all: finished, with ANALYZE_PER_STEP. */
void per_step_tables_make(struct per_step_tables *tables, struct analyses *all);
void per_step_tables_free(struct per_step_tables *tables);

#endif
