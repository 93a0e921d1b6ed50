/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the kernel's preempt count of a CPU. A BPF program may name such a variable only if kallsyms has data
 * (CONFIG_KALLSYMS_ALL), but BTF has its offset among the per-CPU variables, and a program can reach another one of
 * these.
 */
#pragma once

#include <stdint.h>

/* Bytes from a CPU's struct rq to its preempt count; 0: not in this kernel's BTF. */
int64_t preempt_count_from_rq(void);
