/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The kernel's CLOCK_MONOTONIC, the clock of the probes. Does not use clock_gettime(3): a library such as libfaketime
 * may replace it, and syscall(2), too.
 */
#pragma once

#include <stdint.h>

uint64_t kernel_clock_ns(void);

/* For tests: true if the vDSO is used, not a system call. */
int kernel_clock_is_fast(void);
