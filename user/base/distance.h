/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far two times are from each other, whichever is later. */
#ifndef GPUTRACE_BASE_DISTANCE_H
#define GPUTRACE_BASE_DISTANCE_H

#include <stdint.h>

static inline uint64_t time_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

#endif
