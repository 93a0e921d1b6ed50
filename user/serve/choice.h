/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which windows are summed up, so that sums take no more of a processor than a limit.  Those beyond it are left out at
 * random, by what the windows before took: what a window holds does not decide, so sums of the chosen ones have the
 * proportions of all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct window_choice {
	unsigned limit;	 /* thousandths of a percent of a processor */
	uint64_t cpu_ns; /* of one window's sums: mean of the latest ones; 0: not known */
	uint64_t random; /* state of the generator, not 0 */
};

/* Whether the next window of that length is summed up.  At any cost one in ten is. */
bool window_choose(struct window_choice *choice, uint64_t length_ns);

/* What the sums of a chosen one took. */
void window_took(struct window_choice *choice, uint64_t cpu_ns);
