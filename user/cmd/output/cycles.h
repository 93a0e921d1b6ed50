/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cycles of a schedule in a log.  Each is delivered separately, as a slice with a report and files of its own (%c),
 * since the time between them was not recorded.
 */
#pragma once

#include "cmd/output/reading.h"

struct cycles {
	bool are_wanted;
	ARRAY(uint32_t) list; /* cycle numbers, from 1, rising */
	uint64_t seen, first; /* number of steps seen; the first one to record, from 0 */
	bool captured;	      /* they are ranges between cudaProfilerStart and cudaProfilerStop */
};

/* Whether the cycles must be delivered: a schedule was asked for or recorded, and the options choose no steps or times.
 * Then fills *cycles, which may stay empty. */
bool cycles_find(struct cycles *cycles, const struct reading *reading);

/* Whether an output's name has %c although there are no cycles; prints that. */
bool cycles_are_missed(const struct delivery *delivery);

/* EXIT_GOOD; else they cannot be delivered, and a message has said why. */
enum exit_code cycles_check(const struct cycles *cycles, const struct delivery *delivery);

/* The options for one cycle.  Free them before `all`, of which they use strings. */
struct options cycles_options(const struct options *all, uint32_t cycle);
void cycles_options_free(struct options *options);
