/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two times: which is later, and how far they are from each other. */
#pragma once

#include <stdint.h>

static inline uint64_t time_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t later_time(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static inline uint64_t earlier_time(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}
