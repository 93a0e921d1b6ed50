/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Since when a rank is later than before: the one moment that best divides its collectives into two parts with a mean
 * lateness each (least squares).  It is a change only if the means differ by more than chance lets them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* A rank at one of its collectives. */
struct lateness {
	uint64_t at_ns; /* of rank_onset_find: when the rank came, on the clock of the first log */
	uint64_t ns;	/* after the median rank, 0: it was not late */
};

struct lateness_list {
	ARRAY(struct lateness) list;
};

struct rank_onset {
	bool is_known;			  /* false: it is about as late all the time */
	uint64_t from_ns;		  /* its first collective after the change */
	uint64_t before, after;		  /* its collectives */
	uint64_t late_before, late_after; /* those of them to which it came last */
	double more_ns;			  /* growth of the mean lateness */
	double error_ns;		  /* half its interval of 99 % */
};

/* Sorts the list by time. */
void rank_onset_find(struct rank_onset *onset, struct lateness_list *latenesses);
