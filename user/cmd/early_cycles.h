/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of a schedule's cycles while the recording goes on, as torch.profiler's on_trace_ready has them: a process of
 * ours, with the least right to CPUs and memory of its own, reads the log as far as it is written and makes those with
 * %c in their names.  All are made again when the recording is over, with what came late and a receipt that is whole.
 */
#ifndef GPUTRACE_CMD_EARLY_CYCLES_H
#define GPUTRACE_CMD_EARLY_CYCLES_H

#include <stdint.h>
#include <sys/types.h>

#include "cmd/options/options.h"

struct early_cycles {
	pid_t pid; /* 0: there is none */
	int to;	   /* it hears of cycles there */
};

/*
 * Before there are threads, and before anything is open that is to vanish with us.  Starts nothing where no file can be
 * made before the end.  Without it files are made at the end: no failure.
 */
void early_cycles_start(struct early_cycles *early, const struct options *options, int log_fd);

/* These cycles, from 1, are over, and in the log.  Never waits. */
void early_cycles_report(struct early_cycles *early, uint32_t first, uint32_t last);

/* What is being made is given up, since all is made again. */
void early_cycles_end(struct early_cycles *early);

#endif
