/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The offset of CUPTI's clock (CLOCK_REALTIME) from gputrace's (CLOCK_MONOTONIC). NTP slews both alike, so the offset
 * is constant except for steps (settimeofday, a leap second), which are found within one tick.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/process/kernel_clock.h"
#include "cupti/batch.h"

struct clock_pair {
	uint64_t mono_ns;
	int64_t wall_offset_ns;
	uint64_t error_ns; /* half the width of the sample */
};

struct clock_watch {
	struct clock_pair last; /* the last one sent */
	uint64_t last_right_ns; /* when that offset was last seen to hold */
};

static inline uint64_t clock_now_ns(void)
{
	return kernel_clock_ns();
}

/*
 * The clock of CUPTI's records unless CUPTI was given another one.  Calls clock_gettime as CUPTI does, so that a
 * library that replaces it (libfaketime) changes both alike.
 */
static inline uint64_t clock_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sends a sample. */
void clock_send(struct clock_watch *watch, struct batch *batch);

/*
 * If the wall clock was stepped, sends the old offset with the last time it was right, then the new one: records around
 * the step are converted by the offset under which they were made.
 */
void clock_look(struct clock_watch *watch, struct batch *batch);
