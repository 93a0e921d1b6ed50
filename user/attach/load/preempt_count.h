/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the kernel keeps what a CPU is in the middle of.  A BPF program may name such a variable only where kallsyms
 * has data (CONFIG_KALLSYMS_ALL), but BTF has its place among the variables of a CPU, and a program finds another of
 * these.
 */
#ifndef GPUTRACE_ATTACH_LOAD_PREEMPT_COUNT_H
#define GPUTRACE_ATTACH_LOAD_PREEMPT_COUNT_H

#include <stdint.h>

/* Bytes from a CPU's struct rq to its preempt count; 0: this kernel's BTF does not say. */
int64_t preempt_count_from_rq(void);

#endif
