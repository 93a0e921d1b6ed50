/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts CLOCK_REALTIME to CLOCK_MONOTONIC in a recording.  The difference is constant except for steps
 * (settimeofday, leap second; NTP slews both clocks alike).  So all samples between two steps are of one offset, which
 * lies within the error of each, and all times between two steps are converted with that one: kernels that follow each
 * other do not overlap afterwards.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "model/events.h"

/* An interval without a step. */
struct wall_clock_segment {
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of its first and last sample */
	int64_t offset_ns;	    /* the middle of the offsets that its samples allow */
	uint64_t error_ns;	    /* how far the true offset may be from it by these samples */
	uint64_t gap_ns;	    /* how much farther a sample was that allows none of them, less than a step */
};

/* Samples of one source: the collector, or the agent of one process. */
struct wall_clock_track {
	ARRAY(struct gpt_clock) samples; /* by mono_ns once prepared */
	ARRAY(struct wall_clock_segment) segments;
	uint64_t steps;
};

struct wall_clock {
	struct wall_clock_track collector;
	ARRAY(struct wall_clock_track) agents;
	uint64_t error_ns; /* bound over all conversions made */
};

void wall_clock_free(struct wall_clock *clock);

/* Adds a track for an agent; returns its index. */
uint32_t wall_clock_add_agent(struct wall_clock *clock);
void wall_clock_add_sample(struct wall_clock_track *track, const struct gpt_clock *sample);

/* Call once, after the last sample and before the first conversion. */
void wall_clock_prepare(struct wall_clock *clock);

/* Steps of the wall clock, as seen by the process that saw the most. */
uint64_t wall_clock_steps(const struct wall_clock *clock);

/*
 * The offset to subtract from a wall time.  agent: the track of the process's agent, whose wall clock may not be the
 * machine's; NONE: the collector's.  not_before_ns (0: not known) decides between two candidates if the wall clock was
 * set back and a wall time came twice.  Updates clock->error_ns.  The track must have a sample.
 */
int64_t wall_clock_offset(struct wall_clock *clock, uint32_t agent, uint64_t wall_ns, uint64_t not_before_ns);
