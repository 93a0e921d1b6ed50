/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace did per step as rows that outlive it, each with a key by which the row of another trace is known as the
 * same: a line by its file, function and how far it stands below the function's first line, so that what was edited
 * above a function does not matter; a kernel by its family; an op by its name; a stack by functions and files; what a
 * line loses by its cause, too, and how it waits by the call.
 */
#ifndef GPUTRACE_ANALYZE_PER_STEP_ROWS_H
#define GPUTRACE_ANALYZE_PER_STEP_ROWS_H

#include "analyze/analyses.h"
#include "analyze/sums/per_step.h"

struct per_step_row {
	char *key;
	char *place, *name;	     /* of a line: where, and its function; else name alone, place is "" */
	uint32_t what;		     /* of losses their enum why_cause, of memory model_torch_memory.device_type */
	uint32_t api;		     /* of waits, and of losses in calls that wait or allocate; else NONE */
	struct estimate cost, count; /* ns of a GPU, of losses and waits ns, of memory bytes; how often */
};

/* Sorted by key, no key twice. */
struct per_step_rows {
	ARRAY(struct per_step_row) list;
};

/* Of one trace. */
struct per_step_tables {
	bool has_steps, has_gpu, has_ops, has_memory; /* has_gpu: there are GPU operations; has_memory: PyTorch's */
	uint64_t steps, wall_ns, outside_ns;
	/* a step; launches: of kernels and graphs, other_calls: of copies and fills */
	struct estimate wall, gpu_ns, launches, other_calls;
	struct estimate idle_ns, wait_ns, growth; /* growth: bytes that PyTorch holds more on GPUs */
	struct estimate peak;			  /* of these, the most of any device: of no step */
	struct per_step_rows lines;		  /* the innermost line of the user's own code, where there is one */
	struct per_step_rows kernels;		  /* launches: how many ran */
	struct per_step_rows ops;		  /* GPU time of its own; launches: how many ops */
	struct per_step_rows stacks;
	struct per_step_rows losses; /* as `gputrace why` has them: by cause and line */
	struct per_step_rows waits;  /* of the CPU for a GPU, by line and call */
	struct per_step_rows memory; /* of PyTorch, by line: bytes that are held more after a step */
	struct per_step_rows peaks;  /* and held when most was */
};

/* What is looked at for them. */
#define ANALYZE_PER_STEP_TABLES ANALYSES(ANALYZE_PER_STEP, ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_TORCH_MEMORY)

/* all: finished, with these. */
void per_step_tables_make(struct per_step_tables *tables, struct analyses *all);
void per_step_tables_free(struct per_step_tables *tables);

#endif
