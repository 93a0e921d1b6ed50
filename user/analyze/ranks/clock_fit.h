/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The line between two clocks, found from moments that both of them saw: collectives, which end at about the same time
 * on all ranks.  Some pairs may be far off (a rank that was preempted, a kernel that had not to wait), so slope and
 * offset are medians first (Theil and Sen's), and a least squares line through what lies near to that then.
 */
#ifndef GPUTRACE_ANALYZE_CLOCK_FIT_H
#define GPUTRACE_ANALYZE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock_line.h"

/* One moment, on both clocks. */
struct clock_pair {
	uint64_t here_ns, there_ns;
};

struct clock_fit {
	struct clock_line line; /* from here to there */
	uint64_t error_ns;	/* half of the pairs lie nearer to the line than this */
	uint64_t error_most_ns; /* and 95 % nearer than this */
	size_t pairs, used;	/* that there were; that the line was made of */
	bool has_drift;		/* false: they are too few, or too near to each other, to know */
};

/* The pairs are sorted; there is at least one. */
void clock_fit_make(struct clock_fit *fit, struct clock_pair *pairs, size_t count);

#endif
