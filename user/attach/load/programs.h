/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF objects, for newer kernels and for older ones: the right one opened, configured and loaded. */
#ifndef GPUTRACE_ATTACH_LOAD_PROGRAMS_H
#define GPUTRACE_ATTACH_LOAD_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/maps.h>
#include "base/array.h"
#include "gputrace.skel.h"

/*
 * A program of the section "uprobe.later": many traces have no use for it, and the verifier takes 10 to 30 ms for each
 * that walks Python's frames.  It is loaded when its first probe goes in.
 */
struct later_program {
	const struct bpf_program *program;
	struct bpf_insn *instructions; /* as the kernel is to have them: relocated, with the maps' descriptors */
	size_t count;
	void *functions; /* func_info of the kernel's (BTF) */
	uint32_t function_size, function_count;
	int btf_fd;
	int fd; /* -1: not loaded */
};

struct programs {
	struct gputrace_bpf *bpf;
	bool multi; /* uprobe.multi links can be used */
	bool apart; /* and be for single processes */
	ARRAY(struct later_program) later;
	int sites; /* map of probe cookies by site, for kernels without cookies of their own; -1: not needed */
};

/* Opens the object for newer kernels or the one for older; nothing is loaded. NULL and errno. */
struct gputrace_bpf *programs_open(bool old);

/* -errno, and one line in why that says what to do about it. */
int programs_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, char *why,
		  size_t why_size);
/* A program's descriptor, for links; loads it first where that was put off. -errno */
int programs_fd(struct programs *programs, const struct bpf_program *program);
/*
 * How often the kernel did not run a program where it should have, as far as it counts that (Linux 5.12): programs that
 * run in traced processes, and those that run for every process of the machine (bpf/lifecycle.bpf.c).
 */
uint64_t programs_missed(const struct programs *programs);
uint64_t programs_missed_changes(const struct programs *programs);
void programs_unload(struct programs *programs);

#endif
