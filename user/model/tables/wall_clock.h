/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts CLOCK_REALTIME to CLOCK_MONOTONIC in a recording.  The difference is constant except for steps
 * (settimeofday, leap second; NTP slews both clocks alike), so samples between two steps agree within their errors, and
 * a time is converted with the nearest sample on its side of a step.
 */
#ifndef GPUTRACE_WALL_CLOCK_H
#define GPUTRACE_WALL_CLOCK_H

#include <stdint.h>

#include "base/array.h"
#include "model/events.h"

/* The sample used last, and the times for which it is the nearest. */
struct wall_clock_latest {
	uint64_t from_ns, to_ns; /* inclusive, by the offset of the first sample; from > to: not known */
	uint64_t error_ns;
	struct clock_sample sample;
};

/* Samples of one source: the collector, or the agent of one process. */
struct wall_clock_track {
	ARRAY(struct clock_sample) samples; /* by mono_ns once prepared */
	ARRAY(uint32_t) segments;	    /* first sample of each interval without a step */
	uint64_t steps;
	size_t near; /* sample used last: the next time is nearly always close to it */
	struct wall_clock_latest latest;
};

struct wall_clock {
	struct wall_clock_track collector;
	ARRAY(struct wall_clock_track) agents;
	uint64_t error_ns; /* bound over all conversions made */
};

void wall_clock_free(struct wall_clock *clock);

/* Adds a track for an agent; returns its index. */
uint32_t wall_clock_add_agent(struct wall_clock *clock);
void wall_clock_add_sample(struct wall_clock_track *track, struct clock_sample sample);

/* Call once, after the last sample and before the first conversion. */
void wall_clock_prepare(struct wall_clock *clock);

/* Steps of the wall clock, as seen by the process that saw the most. */
uint64_t wall_clock_steps(const struct wall_clock *clock);

/*
 * The offset to subtract from a wall time; agent: a track or NONE.  not_before_ns (0: not known) decides between two
 * candidates if the wall clock was set back and a wall time came twice.  Updates clock->error_ns.  At least one of the
 * tracks used must have a sample.
 */
int64_t wall_clock_offset(struct wall_clock *clock, uint32_t agent, uint64_t wall_ns, uint64_t not_before_ns);

#endif
