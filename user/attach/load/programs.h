/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF objects, for newer and for older kernels: opens, configures and loads the right one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/maps.h>
#include "base/array.h"
#include "gputrace.skel.h"

/*
 * A program of the section "uprobe.later": many traces do not need it, and the verifier takes 10 to 30 ms for each
 * program that walks Python's frames. It is loaded when its first probe is attached.
 */
struct later_program {
	const struct bpf_program *program;
	struct bpf_insn *instructions; /* ready for the kernel: relocated, with the maps' descriptors */
	size_t count;
	void *functions; /* the kernel's func_info (BTF) */
	uint32_t function_size, function_count;
	int btf_fd;
	int fd; /* -1: not loaded */
};

struct programs {
	struct gputrace_bpf *bpf;
	bool multi; /* uprobe.multi links can be used */
	bool apart; /* uprobe.multi links can be attached to single processes */
	ARRAY(struct later_program) later;
	int sites; /* map from site to probe cookie, for kernels without cookies of their own; -1: not needed */
};

/* Opens the object for newer or for older kernels; loads nothing. NULL and errno. */
struct gputrace_bpf *programs_open(bool old);

/* On failure -errno, and one line in why that says what to do about it. */
int programs_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, char *why,
		  size_t why_size);
/* A program's descriptor, for links; loads the program first if that was put off. -errno */
int programs_fd(struct programs *programs, const struct bpf_program *program);
/*
 * How often the kernel skipped a program that it should have run, as far as it counts that (Linux 5.12): programs that
 * run in traced processes, and programs that run for every process of the machine (bpf/lifecycle.bpf.c).
 */
uint64_t programs_missed(const struct programs *programs);
uint64_t programs_missed_changes(const struct programs *programs);
void programs_unload(struct programs *programs);
