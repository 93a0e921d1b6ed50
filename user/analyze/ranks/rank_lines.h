/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ranks do unlike each other: computation by line and by layer on the rank with least, the median one and the one
 * with most, and what the rank that was late most does unlike the median of all others (steps/differences.h).
 */
#pragma once

#include "analyze/ranks/ranks.h"
#include "analyze/steps/differences.h"

/* The computation of a line or a layer per step, on all ranks that are compared. */
struct line_spread {
	const char *place, *name; /* of per_step_row */
	double least_ns;
	struct difference most; /* before: of the median rank; after: of the one with most */
	size_t least_rank, most_rank;
};

struct rank_lines {
	size_t ranks; /* compared: what they computed is known, and by steps if that is known of any */
	bool has_steps;
	bool is_alike; /* per step, or of logs that are equally long, to 1 % */
	struct line_spreads {
		ARRAY(struct line_spread) list; /* largest difference of most and median first */
	} lines, layers;
	size_t late; /* ranks.rows: the rank that differs; SIZE_MAX: none was late, or no other is */
	struct per_step_tables median;
	struct differences differences;
};

/* ranks: compared (ranks_compare); must outlive the lines. */
void rank_lines_make(struct rank_lines *lines, const struct ranks *ranks);
void rank_lines_free(struct rank_lines *lines);
