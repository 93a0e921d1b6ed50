/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CLOCK_MONOTONIC as the kernel has it, which is the clock of the probes.  Not by clock_gettime(3): a library such as
 * libfaketime may stand before that one, and before syscall(2).
 */
#ifndef GPUTRACE_AGENT_KERNEL_CLOCK_H
#define GPUTRACE_AGENT_KERNEL_CLOCK_H

#include <stdint.h>

uint64_t kernel_clock_ns(void);

/* For tests: by the vDSO, not by a system call. */
int kernel_clock_is_fast(void);

#endif
