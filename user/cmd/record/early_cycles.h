/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the files of a schedule's cycles while the recording goes on, as torch.profiler's on_trace_ready does.  A
 * child process of gputrace, with low priority and memory of its own, reads the log as far as it is written and makes
 * the outputs with %c in their names.  All are made again when the recording is over, with late events and a whole
 * receipt.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cmd/options/options.h"

struct early_cycles {
	pid_t pid; /* 0: there is none */
	int to;	   /* socket that tells it of cycles */
};

/*
 * To be called before there are threads, and before anything is open that must vanish with gputrace.  Starts nothing if
 * no file can be made before the end.  If it cannot be started, files are made at the end: no failure.
 */
void early_cycles_start(struct early_cycles *early, const struct options *options, int log_fd);

/* Reports that these cycles, from 1, are over and in the log.  Never waits. */
void early_cycles_report(struct early_cycles *early, uint32_t first, uint32_t last);

/* Ends the process, also while it makes a file: all are made again. */
void early_cycles_end(struct early_cycles *early);
