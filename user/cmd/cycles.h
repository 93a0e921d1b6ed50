/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cycles of a schedule in a log: each is delivered by itself, as a slice with a report and files of its own (%c),
 * since what lies between them was not recorded.
 */
#ifndef GPUTRACE_CMD_CYCLES_H
#define GPUTRACE_CMD_CYCLES_H

#include "cmd/reading.h"

struct cycles {
	bool are_wanted;
	ARRAY(uint32_t) list; /* their numbers, from 1, rising */
	uint64_t seen, first; /* steps in all; the first that should be recorded, from 0 */
	bool captured;	      /* between cudaProfilerStart and cudaProfilerStop */
};

/* Whether the log has a schedule, or was to have one, and no part of it was named; then *cycles has what there is. */
bool cycles_find(struct cycles *cycles, const struct reading *reading);

/* Whether a name asks for the number of a cycle where there are none; a message has said so. */
bool cycles_are_missed(const struct delivery *delivery);

/* Not EXIT_GOOD: they cannot be delivered, as a message has said. */
enum exit_code cycles_check(const struct cycles *cycles, const struct delivery *delivery);

/* The options of one cycle; to be freed while those of all are there. */
struct options cycles_options(const struct options *all, uint32_t cycle);
void cycles_options_free(struct options *options);

void cycles_free(struct cycles *cycles);

#endif
