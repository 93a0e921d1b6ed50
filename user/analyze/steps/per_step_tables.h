/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace did per step, as rows that outlive it.  Each has a key by which it is matched with the row of another
 * trace: a line by its file, function and distance from the function's first line, so that edits above a function do
 * not matter; a module by the class of its root and its name, whatever number a root has; a kernel by its family; an op
 * by its name; a stack by functions and files.  A line's losses also have their cause in the key, and its waits their
 * call.
 */
#pragma once

#include "analyze/analyses.h"
#include "analyze/steps/per_step.h"

struct per_step_row {
	char *key;
	char *place, *name;	     /* of a line: its place and function; else only name is used, place is "" */
	uint32_t what;		     /* losses: enum why_cause; memory: model_torch_memory.device_type */
	uint32_t api;		     /* of waits, and of losses in calls that wait or allocate; else NONE */
	struct estimate cost, count; /* cost: ns of a GPU, ns of losses or waits, bytes of memory; count: how often */
};

/* Sorted by key; keys are unique. */
struct per_step_rows {
	ARRAY(struct per_step_row) list;
};

/* The tables of one trace. */
struct per_step_tables {
	bool has_steps, has_gpu, has_ops, has_memory; /* has_gpu: there are GPU operations; has_memory: PyTorch's */
	bool has_layers;			      /* a module of PyTorch was called */
	bool of_other_tool;			      /* model_is_of_other_tool */
	uint64_t steps, wall_ns, outside_ns;
	/* per step; launches: of kernels and graphs, other_calls: of copies and fills */
	struct estimate wall, gpu_ns, launches, other_calls;
	struct estimate median_wall, median_gpu_ns; /* step_blocks_median */
	struct estimate idle_ns, wait_ns, growth;   /* growth: bytes that PyTorch holds more on GPUs */
	struct estimate peak;			    /* the largest peak of any device, which is not per step */
	struct per_step_rows lines;		    /* the innermost line of the user's own code, where there is one */
	struct per_step_rows layers;		    /* modules of PyTorch and what is in none; none: !has_layers */
	struct per_step_rows layer_kernels;	    /* the same by kernel; place: the module; count: kernels that ran */
	struct per_step_rows computation;	    /* lines of one process: kernels that do not communicate */
	struct per_step_rows layer_computation;	    /* the same by module; none: !has_layers */
	struct per_step_rows kernels;		    /* count: kernels that ran */
	struct per_step_rows ops;		    /* own GPU time; count: ops */
	struct per_step_rows stacks;
	struct per_step_rows losses; /* of `gputrace why`: by cause and line */
	struct per_step_rows waits;  /* of the CPU for a GPU, by line and call */
	struct per_step_rows memory; /* of PyTorch, by line: bytes that are held more after a step */
	struct per_step_rows peaks;  /* of PyTorch, by line: bytes held at the peak */
};

/* The analyses that they need. */
#define ANALYZE_PER_STEP_TABLES ANALYSES(ANALYZE_PER_STEP, ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_TORCH_MEMORY)

/* all: finished, with these analyses. */
void per_step_tables_make(struct per_step_tables *tables, struct analyses *all);

/*
 * The same of one process, with rows of both computations, losses and waits only.  all: with PER_STEP and WHY.  False:
 * others have steps, it has none.  In a trace without steps it is the sum of all processes.  device: one GPU of it, of
 * which there are GPU times and computation only; NONE: all.
 */
bool per_step_tables_make_of(struct per_step_tables *tables, struct analyses *all, uint32_t process, uint32_t device);
void per_step_tables_free(struct per_step_tables *tables);

/*
 * Several runs as one: means of their means.  The variance is that between the runs where it is larger than what the
 * steps of each run make likely, as runs on a busy machine differ by more than their steps.  Takes the runs' rows;
 * their other values stay.
 */
void per_step_tables_join(struct per_step_tables *joined, struct per_step_tables *runs, size_t count);

/*
 * The median of several ranks (of an even number the lower one), of each value and row for itself, with what is known
 * of the variance of that rank's.  Runs: of per_step_tables_make_of; only their rows are in it.
 */
void per_step_tables_median(struct per_step_tables *median, const struct per_step_tables *const *runs, size_t count);
