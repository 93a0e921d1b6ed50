/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Features of this kernel. Each is tried where that has no effect: distributions backport features, so the kernel's
 * version number does not tell.
 */
#pragma once

#include <stdbool.h>

enum feature {
	FEATURE_RING_BUFFER,   /* Linux 5.8; nothing works without */
	FEATURE_BPF_LOOP,      /* 5.17 */
	FEATURE_ATTACH_COOKIE, /* 5.15 */
	FEATURE_UPROBE_MULTI,  /* 6.6 */
	FEATURE_SESSION,       /* 6.13 */
	FEATURE_FAST_NOP5,     /* 6.18, x86-64 */
	FEATURE_NOP5_UNDONE,   /* fast probes are removed from other processes again; not in 6.18.15; 80 ms to test */
	FEATURE_COUNT
};

/* 1: present, 0: absent, -errno: unknown (usually no permission). */
int feature_probe(enum feature feature);

/* Starts the test of FEATURE_NOP5_UNDONE in a process of its own; feature_probe then waits for its result. */
void feature_begin_nop5(void);

/* Whether the programs for older kernels are needed, given feature_probe's answers for both features. */
bool features_need_old_programs(int bpf_loop, int attach_cookie);
