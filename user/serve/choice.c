/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "serve/choice.h"

/* All of a processor, as in window_choice.limit. */
#define WHOLE 100000.0

#define PART_MIN 0.1

/* Marsaglia's xorshift64; between 0 and 1. */
static double next_random(struct window_choice *choice)
{
	choice->random ^= choice->random << 13;
	choice->random ^= choice->random >> 7;
	choice->random ^= choice->random << 17;
	return (double)(choice->random >> 11) / (double)(1ull << 53);
}

bool window_choose(struct window_choice *choice, uint64_t length_ns)
{
	double part = choice->limit / WHOLE * (double)length_ns;

	if (part >= (double)choice->cpu_ns)
		return true;
	part /= (double)choice->cpu_ns;
	return next_random(choice) < (part > PART_MIN ? part : PART_MIN);
}

void window_took(struct window_choice *choice, uint64_t cpu_ns)
{
	choice->cpu_ns = choice->cpu_ns ? (3 * choice->cpu_ns + cpu_ns) / 4 : cpu_ns;
}
