/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every format is asked for. */
#ifndef GPUTRACE_EXPORT_FORMAT_H
#define GPUTRACE_EXPORT_FORMAT_H

#include <stdbool.h>

#include "analyze/attribution.h"
#include "base/clock_line.h"
#include "base/tally.h"
#include "export/sink.h"
#include "model/trace.h"

/* What ops' stacks are weighed by. */
enum folded_by {
	FOLDED_BY_CALLS, /* not ops: GPU time or launches of calls */
	FOLDED_BY_SELF_CPU,
	FOLDED_BY_SELF_CUDA,
};

/* A rank of a job, as a file says of itself whose it is. */
struct export_rank {
	int64_t rank, world; /* -1, 0: not known */
};

/* Numbers of processes and threads that files have, or timelines of one file, which stand beside each other: starts
 * zeroed. */
struct export_used_ids {
	struct tally pids, tids;
};

static inline void export_used_ids_free(struct export_used_ids *used)
{
	tally_free(&used->pids);
	tally_free(&used->tids);
}

/* Where a file's events are put among those of other files: on one clock, counted from one time. */
struct export_place {
	struct export_rank rank;
	bool is_aligned;	 /* the rest is of use */
	struct clock_line clock; /* from the trace's to that of all */
	uint64_t start_ns;	 /* on that */
	int64_t wall_offset_ns;	 /* CLOCK_REALTIME = that + this */
	int64_t slept_ns;	 /* CLOCK_BOOTTIME = that + this */
	/* .pftrace, or NULL: whose processes (by model.processes, NULL: none) and GPUs are. */
	const char *const *process_labels;
	const char *gpu_label;
	struct export_used_ids *used; /* .pftrace: by others of its machine; NULL: its numbers are as they were */
};

struct export_options {
	int process;	  /* index into model.processes, -1: all */
	bool by_launches; /* folded: count launches although there are GPU times */
	bool by_idle;	  /* folded: idle time of GPUs; -ENODATA: no GPU has two operations */
	bool by_cpu;	  /* folded: CPU time, as samples saw it; -ENODATA: there are none */
	enum folded_by folded_by;
	struct attribution attribution;	  /* folded */
	uint64_t most;			  /* bytes that the file may have: more ends the export with -EFBIG; 0: any */
	const struct export_place *place; /* Chrome traces and .pftrace: NULL: the trace's own */
	const struct cancel *cancel;	  /* abandons the export with -ECANCELED; NULL: nothing does */
};

/* Puts a whole file into the sink; errors are the sink's.  Returns 0 or -errno for what is not the sink's. */
typedef int export_write_fn(struct sink *sink, struct trace *trace, const struct export_options *options);

#endif
