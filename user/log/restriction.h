/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which segments of a log are wanted, by what their headers say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/log.h>

/*
 * A segment is wanted if it has a time in the span, by either clock, and a record of one of the processes.  What its
 * header does not say does not exclude it.  If a wanted segment does not repeat all that it refers to, the segments
 * before it are wanted, too.  With segments > 0 only the numbers of the segments count.
 */
struct log_restriction {
	uint32_t first_segment, segments;  /* segments > 0: that many from number first_segment on */
	uint64_t from_ns, to_ns;	   /* CLOCK_MONOTONIC; both ends belong to it */
	uint64_t from_wall_ns, to_wall_ns; /* the same span by CUPTI's clock, widened by that clock's uncertainty */
	const uint32_t *pids;
	uint32_t pid_count; /* 0: all */
	/* Types, e.g. GPT_END: a segment that has one of them is wanted in any case. */
	const uint16_t *always;
	uint32_t always_count;
};

/* header: sane, with its lists after it.  NULL wants all. */
bool log_restriction_wants(const struct log_restriction *wanted, const struct gpt_log_segment *header);
