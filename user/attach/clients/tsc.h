/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts the time stamp counter to CLOCK_MONOTONIC. The kernel steers its clock (NTP), the counter runs free. So
 * pairs of both are sampled during the run, and a reading is interpolated between the two pairs around it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct tsc_pair {
	uint64_t ticks, mono_ns;
	uint64_t error_ns; /* half the width of the sample */
};

/* Starts zeroed. */
struct tsc_clock {
	ARRAY(struct tsc_pair) pairs; /* by ticks */
};

/* NULL, or why this machine's counter is no clock: not invariant, or rejected by the kernel. */
const char *tsc_unfit(void);

/* The counter now; 0 on machines without it. */
uint64_t tsc_now(void);

/* Samples a pair. Call it so often that the clock's rate hardly changes between two pairs. */
void tsc_clock_sample(struct tsc_clock *clock);

/* Adds a pair sampled elsewhere; it is dropped if it is not after the last one in both clocks. */
void tsc_clock_add(struct tsc_clock *clock, struct tsc_pair pair);

/*
 * Converts start and end of an interval from ticks to CLOCK_MONOTONIC ns. False, with nothing changed, if it began
 * before the first pair, ended more than 1 ms after the last, or ran backwards. Raises *error_ns to the bound of this
 * conversion.
 */
bool tsc_clock_convert(const struct tsc_clock *clock, uint64_t times[2], uint64_t *error_ns);

void tsc_clock_free(struct tsc_clock *clock);
