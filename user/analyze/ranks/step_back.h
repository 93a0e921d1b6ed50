/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where time steps back in a file of another tool, as the clock that it was made with was set: the kernels of a group
 * run one after the other, so one that begins before an earlier one did is after such a step.
 */
#pragma once

#include "analyze/ranks/collective_arrivals.h"

/* An arrival's number in its group. */
struct numbered_arrival {
	uint64_t group;
	int64_t sequence;
	size_t arrival; /* index */
};

struct numbered_arrivals {
	ARRAY(struct numbered_arrival) list;
};

/* Drops arrivals of the rank, which are as they came, that follow such a step in their group.  Sorts the numbers. */
void step_back_drop(struct numbered_arrivals *numbered, struct arriving_rank *rank);
