/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The line between two clocks, from moments that both of them saw: collectives, which end at about the same time on all
 * ranks.  Some pairs may be far off (a rank that was preempted, a kernel that did not have to wait).  So slope and
 * offset are medians first (Theil and Sen's), then a least squares line through the pairs near it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock_line.h"

/* A moment on both clocks. */
struct clock_pair {
	uint64_t here_ns, there_ns;
};

struct clock_fit {
	struct clock_line line; /* from here to there */
	uint64_t error_ns;	/* half of the pairs lie nearer to the line than this */
	uint64_t error_most_ns; /* and 95 % nearer than this */
	size_t pairs, used;	/* all pairs; pairs that the line was made of */
	bool has_drift;		/* false: too few pairs, or too close together, to know */
};

/* Sorts the pairs, of which there must be at least one. */
void clock_fit_make(struct clock_fit *fit, struct clock_pair *pairs, size_t count);
