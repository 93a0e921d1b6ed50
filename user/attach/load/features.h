/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel offers, each found by trying it where that has no effect. Distributions add what is newer than
 * their kernel's number, so the number is not asked.
 */
#ifndef GPUTRACE_ATTACH_LOAD_FEATURES_H
#define GPUTRACE_ATTACH_LOAD_FEATURES_H

#include <stdbool.h>

enum feature {
	FEATURE_RING_BUFFER,   /* Linux 5.8; nothing works without */
	FEATURE_BPF_LOOP,      /* 5.17 */
	FEATURE_ATTACH_COOKIE, /* 5.15 */
	FEATURE_UPROBE_MULTI,  /* 6.6 */
	FEATURE_SESSION,       /* 6.13 */
	FEATURE_FAST_NOP5,     /* 6.18, x86-64 */
	FEATURE_NOP5_UNDONE,   /* fast probes leave other processes again; not in 6.18.15; 80 ms where it must be tried
				*/
	FEATURE_COUNT
};

/* 1: there, 0: not there, -errno: it is unknown (no permission, most often). */
int feature_probe(enum feature feature);

/* Begins to try FEATURE_NOP5_UNDONE in a process of its own; feature_probe waits for that then. */
void feature_begin_nop5(void);

/* Whether the programs for older kernels are the right ones, by what feature_probe said of both. */
bool features_need_old_programs(int bpf_loop, int attach_cookie);

#endif
