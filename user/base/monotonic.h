/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CLOCK_MONOTONIC, the clock of all times in a trace, and other clocks, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

/* A clock of clock_gettime(2) in nanoseconds. */
uint64_t clock_ns(clockid_t clock);

struct timespec timespec_of(uint64_t ns);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t monotonic_ns(void);
