/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF objects, for newer kernels and for older ones: the right one opened, configured and loaded. */
#ifndef GPUTRACE_ATTACH_LOAD_PROGRAMS_H
#define GPUTRACE_ATTACH_LOAD_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/maps.h>
#include "gputrace.skel.h"

struct programs {
	struct gputrace_bpf *bpf;
	bool multi; /* uprobe.multi links can be used */
	int sites;  /* map of probe cookies by site, for kernels without cookies of their own; -1: not needed */
};

/* Opens the object for newer kernels or the one for older; nothing is loaded. NULL and errno. */
struct gputrace_bpf *programs_open(bool old);

/* -errno, and one line in why that says what to do about it. */
int programs_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, char *why,
		  size_t why_size);
/* How often the kernel did not run a program where it should have, as far as it counts that (Linux 5.12). */
uint64_t programs_missed(const struct programs *programs);
void programs_unload(struct programs *programs);

#endif
