/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a log a slice of its recording needs: by the index, before any of it is read.  Launches wait in queues, so
 * those whose work is in the slice are before it, and work, returns and records of its launches are reported after it.
 */
#ifndef GPUTRACE_INPUT_GPT_SLICE_H
#define GPUTRACE_INPUT_GPT_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/reader.h"

/* When the recording was. */
struct gpt_span {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t wall_offset_ns;
};

/* False: the log has no index, or cannot be read, which its reader will report. */
bool gpt_find_span(int fd, struct gpt_span *span);

/*
 * The segments that a slice [from, to) needs; 0 and UINT64_MAX: no bound.  pids, which stay the caller's: only these
 * processes are in it, 0: all are.
 */
struct log_restriction gpt_restrict(const struct gpt_span *span, uint64_t from_ns, uint64_t to_ns, const uint32_t *pids,
				    uint32_t pid_count);

#endif
