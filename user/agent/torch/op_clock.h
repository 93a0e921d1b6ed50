/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The time of ops: an application's thread takes stamps, the agent's thread converts them to CLOCK_MONOTONIC. Where the
 * kernel's clock source is the processor's counter (TSC), a stamp is that counter: reading it costs a fraction of
 * clock_gettime. The agent's thread samples both clocks and interpolates a stamp between the two samples around it.
 * Elsewhere a stamp is CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/clock.h"

extern bool op_clock_counts; /* stamps are the processor's counter; changes in op_clock_choose alone */

/* For a thread that has a copy of op_clock_counts at hand, which saves a cache line. */
static inline uint64_t op_clock_stamp_if(bool counts)
{
#if defined(__x86_64__)
	if (__builtin_expect(counts, 1))
		return __builtin_ia32_rdtsc();
#endif
	return clock_now_ns();
}

static inline uint64_t op_clock_stamp(void)
{
	return op_clock_stamp_if(op_clock_counts);
}

/* ---- the agent's thread ------------------------------------------------------------------------ */

/* Chooses the clock: once in a process, when the thread begins (a seccomp filter may come later). */
void op_clock_choose(void);

/* Call it before stamps are taken. */
void op_clock_open(void);

/* Call it before stamps are read from a buffer. */
void op_clock_sample(void);

/*
 * Converts to CLOCK_MONOTONIC. Gives the same result every time for a stamp between one and two OP_CLOCK_SETTLED_NS
 * old.
 */
uint64_t op_clock_ns(uint64_t stamp);

#define OP_CLOCK_SETTLED_NS 1000000000u

/* ---- for tests ---- */

/* As op_clock_sample, with that pair. */
void op_clock_add(uint64_t stamp, uint64_t ns);
