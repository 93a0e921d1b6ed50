/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of an export, common to all formats. */
#pragma once

#include <stdbool.h>

#include "analyze/events/attribution.h"
#include "base/clock_line.h"
#include "base/tally.h"
#include "export/file/sink.h"
#include "model/trace.h"

/* What stacks are folded. */
enum folded_by {
	FOLDED_BY_CALLS,     /* of calls: GPU time or launches */
	FOLDED_BY_SELF_CPU,  /* of ops, by their own time */
	FOLDED_BY_SELF_CUDA, /* of ops, by the GPU time of their own launches */
	FOLDED_BY_LAYER,     /* modules of PyTorch: GPU time, launches or idle time */
};

/* The rank of a job that a file names as its own. */
struct export_rank {
	int64_t rank, world; /* -1, 0: not known */
};

/*
 * Numbers of processes and threads already taken by files shown together, or by other timelines of the same file:
 * starts zeroed.
 */
struct export_used_ids {
	struct tally pids, tids;
};

static inline void export_used_ids_free(struct export_used_ids *used)
{
	tally_free(&used->pids);
	tally_free(&used->tids);
}

/* How a file's events fit with those of other files: on one clock, counted from one time. */
struct export_place {
	struct export_rank rank;
	bool is_aligned;	 /* the members below are set */
	struct clock_line clock; /* from the trace's clock to the common one */
	uint64_t start_ns;	 /* on the common clock */
	int64_t wall_offset_ns;	 /* CLOCK_REALTIME = the common clock + this */
	int64_t slept_ns;	 /* CLOCK_BOOTTIME = the common clock + this */
	/* .pftrace, or NULL: labels of processes (by model.processes, NULL: none) and of GPUs. */
	const char *const *process_labels;
	const char *gpu_label;
	const struct timeline_splits *splits; /* NULL: none are known */
	struct export_used_ids *used; /* .pftrace: numbers used by others of its machine; NULL: keeps its own numbers */
};

struct export_options {
	int process;	  /* index into model.processes, -1: all */
	bool has_metric;  /* what to count was said: one of the next three, or none of them for GPU time */
	bool by_launches; /* folded, svg: count launches even if there are GPU times */
	bool by_idle;	  /* folded, svg: idle time of GPUs; -ENODATA: no GPU has two operations */
	bool by_cpu;	  /* folded, svg, pstats: CPU time, from samples; -ENODATA: there are none */
	enum folded_by folded_by;
	struct attribution attribution;	  /* folded */
	uint64_t most;			  /* limit of the file in bytes: more ends the export with -EFBIG; 0: none */
	const struct export_place *place; /* Chrome traces and .pftrace; NULL: the trace's own place */
	const struct cancel *cancel;	  /* abandons the export with -ECANCELED; NULL: nothing does */
};

/* Writes a whole file into the sink; errors of the sink stay in the sink.  Returns 0 or -errno for other errors. */
typedef int export_write_fn(struct sink *sink, struct trace *trace, const struct export_options *options);
