/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The relation of two machines' clocks: an offset at one time, and a drift. */
#pragma once

#include <stdint.h>

/* All zero: one clock. */
struct clock_line {
	uint64_t from_ns;  /* on this clock: when offset_ns holds */
	int64_t offset_ns; /* how much the other clock is ahead then */
	double drift;	   /* how much faster the other runs: 1e-6 is a microsecond per second */
};

/* Converts a time of this clock to the other one; a time before 0 becomes 0. */
static inline uint64_t clock_line_at(const struct clock_line *line, uint64_t time_ns)
{
	double beyond = line->drift * ((double)time_ns - (double)line->from_ns);
	__int128 there = (__int128)time_ns + line->offset_ns;

	if (beyond > -1e18 && beyond < 1e18)
		there += (int64_t)(beyond < 0 ? beyond - 0.5 : beyond + 0.5);
	return there < 0 ? 0 : there > UINT64_MAX ? UINT64_MAX : (uint64_t)there;
}
