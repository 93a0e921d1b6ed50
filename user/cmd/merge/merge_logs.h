/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rank's log, opened again to be written into a file, and the names of its processes and GPUs there. */
#pragma once

#include "analyze/ranks/collective_split.h"
#include "cmd/options/options.h"
#include "cmd/output/reading.h"
#include "timeline/timeline.h"

/* One at a time; options, ranks and split are filled in by the caller. */
struct merge_log {
	const struct options *options;
	const struct ranks *ranks;
	const struct collective_split *split;
	size_t log;
	struct timeline_splits splits; /* what its collectives' kernels did */
	struct delivery delivery;
	struct reading reading;
	char **labels;	 /* by model.processes: "rank 3, node-b" */
	char *gpu_label; /* the rank, if all work of the log is one rank's */
	uint32_t processes;
};

/* 0 or -errno, having printed why. */
int merge_log_open(struct merge_log *opened, size_t log);
void merge_log_close(struct merge_log *opened);

/*
 * Writes all outputs, for ranks whose logs are on one clock: a file of all ranks, or one for each.  Goes on after one
 * that failed.  Prints what failed; 0 or the first -errno.
 */
int merge_write_files(const struct options *options, const struct ranks *ranks, const struct collective_split *split);

/*
 * Writes an archive for Perfetto (.tar): a .pftrace of each rank with its own clock, and a manifest of the offsets
 * between these clocks (perfetto.dev/docs/reference/perfetto-manifest).  A manifest has no drift, so that the times in
 * a trace are corrected for it.  fd: can seek.  0 or -errno.
 */
int merge_write_tar(const struct options *options, const struct ranks *ranks, const struct collective_split *split,
		    int fd);
