/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which parts of a log a slice of its recording needs, found by the index before reading.  Launches wait in queues:
 * those of work in the slice can precede it, and work, returns and records of its launches can be reported after it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/reader.h"

/* The time of the recording. */
struct gpt_span {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t wall_offset_ns;
};

/* False: the log has no index, or cannot be read, which its reader will report. */
bool gpt_find_span(int fd, struct gpt_span *span);

/*
 * The segments that a slice [from, to) needs; 0 and UINT64_MAX: no bound.  pids: only these processes are in it; the
 * array stays the caller's; pid_count 0: all processes.
 */
struct log_restriction gpt_restrict(const struct gpt_span *span, uint64_t from_ns, uint64_t to_ns, const uint32_t *pids,
				    uint32_t pid_count);
