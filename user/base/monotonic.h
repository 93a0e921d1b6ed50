/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock that all times of a trace are of. */
#ifndef GPUTRACE_BASE_MONOTONIC_H
#define GPUTRACE_BASE_MONOTONIC_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t monotonic_ns(void);

#endif
