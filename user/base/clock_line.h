/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the clock of one machine runs beside that of another: ahead by an offset at one time, and faster by a rate. */
#ifndef GPUTRACE_CLOCK_LINE_H
#define GPUTRACE_CLOCK_LINE_H

#include <stdint.h>

/* All zero: they are one clock. */
struct clock_line {
	uint64_t from_ns;  /* on this clock: when the other is ahead by */
	int64_t offset_ns; /* that */
	double drift;	   /* how much faster the other runs: 1e-6 is a microsecond per second */
};

/* A time of this clock on the other one; what would be before 0 there is 0. */
static inline uint64_t clock_line_at(const struct clock_line *line, uint64_t time_ns)
{
	double beyond = line->drift * ((double)time_ns - (double)line->from_ns);
	__int128 there = (__int128)time_ns + line->offset_ns;

	if (beyond > -1e18 && beyond < 1e18)
		there += (int64_t)(beyond < 0 ? beyond - 0.5 : beyond + 0.5);
	return there < 0 ? 0 : there > UINT64_MAX ? UINT64_MAX : (uint64_t)there;
}

#endif
