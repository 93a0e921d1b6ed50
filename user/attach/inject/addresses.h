/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a call inside a process needs there: functions, and instructions that lead back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/process.h"

/* Addresses in the process. */
struct inject_addresses {
	uint64_t dlopen, dlerror;
	uint64_t raise, swab;
	uint64_t fork, fork_end;
	uint64_t pop_rdi;      /* pop %rdi; ret */
	uint64_t restorer;     /* mov $15, %rax; syscall: signal handlers return there */
	int64_t errno_offset;  /* of errno from the thread pointer (%fs) */
	uint64_t loader_state; /* int, _r_debug.r_state: 0 when nothing is being loaded or unloaded */
	uint64_t agent_start;  /* of an agent that is already loaded, 0: none */
	uint64_t agent_status; /* the agent's struct gpt_agent_status, 0: it has none */
};

/*
 * agent_fd: gputrace's agent. 0; -ENOTSUP when the process cannot be entered (why says what is missing), other -errno.
 */
int inject_addresses_find(pid_t pid, const struct mappings *mappings, int agent_fd, struct inject_addresses *out,
			  char *why, size_t why_size);

/* Whether the process has this very agent mapped, or, where its file cannot be reached, the same build of it. */
bool inject_agent_is_mapped(pid_t pid, int agent_fd);

/*
 * The address, in the text of __errno_location, of the slot with errno's offset from the thread pointer; address: where
 * the text starts. 0: unknown.
 */
uint64_t inject_errno_slot(const uint8_t *text, size_t bytes, uint64_t address);

/* Whether the loader is idle. */
bool inject_loader_idle(pid_t pid, const struct inject_addresses *addresses);
