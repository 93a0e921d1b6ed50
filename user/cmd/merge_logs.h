/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log of a rank, opened once more to be written into a file, and what its processes and GPUs are called there. */
#ifndef GPUTRACE_MERGE_LOGS_H
#define GPUTRACE_MERGE_LOGS_H

#include "analyze/ranks/ranks.h"
#include "cmd/options/options.h"
#include "cmd/reading.h"

/* One at a time; options and ranks are filled in by the caller. */
struct merge_log {
	const struct options *options;
	const struct ranks *ranks;
	struct delivery delivery;
	struct reading reading;
	char **labels;	 /* by model.processes: "rank 3, node-b" */
	char *gpu_label; /* the rank where all work of the log is one rank's */
	uint32_t processes;
};

/* 0 or -errno, having printed why. */
int merge_log_open(struct merge_log *opened, size_t log);
void merge_log_close(struct merge_log *opened);

/*
 * Files of ranks whose logs are on one clock: all of them in one, or one for each.  Writes all outputs, going on after
 * one that failed.  Prints what failed; 0 or the first -errno.
 */
int merge_write_files(const struct options *options, const struct ranks *ranks);

/*
 * An archive for Perfetto (.tar): a .pftrace of each rank with its own clock, and a manifest of how these clocks stand
 * to each other (perfetto.dev/docs/reference/perfetto-manifest).  A manifest has offsets and no drift: that is taken
 * out of a trace's times.  fd: can seek.  0 or -errno.
 */
int merge_write_tar(const struct options *options, const struct ranks *ranks, int fd);

#endif
