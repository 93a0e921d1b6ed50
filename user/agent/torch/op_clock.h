/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The time of ops: stamps that an application's thread takes, and CLOCK_MONOTONIC of them, which the agent's thread
 * makes.  Where the kernel's clock source is the processor's counter (TSC), a stamp is that counter: reading it
 * costs a fraction of clock_gettime.  The agent's thread takes samples of both clocks, and a stamp is set in proportion
 * between the two samples around it.  Elsewhere a stamp is CLOCK_MONOTONIC.
 */
#ifndef GPUTRACE_AGENT_OP_CLOCK_H
#define GPUTRACE_AGENT_OP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/clock.h"

extern bool op_clock_counts; /* stamps are the processor's counter; changes in op_clock_choose alone */

/* Of the thread that has the switch where it costs less than a line of the cache. */
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

/* Which clock it is: once in a process, as soon as the thread begins (a filter of system calls may come later). */
void op_clock_choose(void);

/* Before stamps are taken. */
void op_clock_open(void);

/* To be called before stamps are read from a buffer. */
void op_clock_sample(void);

/* CLOCK_MONOTONIC. It is the same each time for a stamp between OP_CLOCK_SETTLED_NS and twice as much old. */
uint64_t op_clock_ns(uint64_t stamp);

#define OP_CLOCK_SETTLED_NS 1000000000u

/* ---- for tests ---- */

/* As op_clock_sample, of that pair. */
void op_clock_add(uint64_t stamp, uint64_t ns);

#endif
