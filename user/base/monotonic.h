/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock that all times of a trace are of, and the others as nanoseconds. */
#ifndef GPUTRACE_BASE_MONOTONIC_H
#define GPUTRACE_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* What a clock of clock_gettime(2) says, in nanoseconds. */
uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t monotonic_ns(void);

#endif
