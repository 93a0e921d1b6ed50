/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each step of training on all ranks that have it: how long it took on each, and which rank was late in it.
 *
 * Steps of two ranks are the same by the collectives launched in them, as a collective is launched in the same step on
 * each rank, never by time or by their numbers: recordings may begin in different steps.  Numbers are those of the
 * first rank that has steps.
 */
#pragma once

#include "analyze/ranks/ranks.h"

/* A step that several ranks have. */
struct step_spread {
	int64_t number; /* below 0: before the first one of that rank */
	size_t ranks;
	uint64_t fastest_ns, median_ns, slowest_ns; /* wall time; of an even number of ranks the lower median */
	size_t fastest, slowest;		    /* ranks.rows */
	size_t late; /* ranks.rows: late by most time in its collectives; SIZE_MAX: none */
	uint64_t late_ns;
};

/* A rank, in the steps that others have, too. */
struct rank_steps_row {
	uint64_t seen;	   /* steps of its log; the next ones are of those that are compared */
	bool is_compared;  /* false: it has none, or shares no collective in them with others */
	uint64_t compared; /* steps that another rank has */
	uint64_t wall_ns;
	uint64_t fastest, slowest, late; /* in how many steps it was that one */
	uint64_t late_ns;
};

struct rank_steps {
	ARRAY(struct step_spread) list; /* by number */
	struct rank_steps_row *rows;	/* by ranks.rows */
};

/* ranks: compared (ranks_compare). */
void rank_steps_make(struct rank_steps *steps, const struct ranks *ranks);
void rank_steps_free(struct rank_steps *steps);
