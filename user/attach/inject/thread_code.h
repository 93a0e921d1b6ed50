/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose code a thread is in: the runtime's, an allocator's, or code that leaves nothing half done. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/inject/thread_state.h"
#include "target/process.h"

#define SAFE_CODES_MAX 32

/* A file with code, and whether it is safe. */
struct safe_code {
	dev_t device;
	uint64_t inode;
	bool safe;
};

struct safe_codes {
	struct safe_code list[SAFE_CODES_MAX];
	unsigned count;
};

/* The process to be entered: what the choice of a thread needs. */
struct entered_process {
	pid_t pid;
	uint64_t start_ticks; /* process_start_ticks: identifies the process, as another may get its pid */
	const struct mappings *mappings;
	struct safe_codes *codes; /* collected so far; NULL: a running thread is never safe */
	uint64_t restorer;	  /* return address of signal handlers in its libc */
	uint64_t fork, fork_end;  /* the function's code; 0 not known */
};

/*
 * Examines the file whose code is at pc, while nothing is stopped: code is not safe before that. A file with an
 * allocator in it never is.
 */
void thread_code_record(const struct entered_process *process, uint64_t pc);

/* Whether the code at pc was examined and is safe. */
bool thread_code_is_safe(const struct entered_process *process, uint64_t pc);

/*
 * Whether a library with an allocator makes this call, which only sleeps: some allocators wait for their lock so. The
 * caller's return address is next on the stack.
 */
bool thread_code_sleeps_in_allocator(const struct entered_process *process, const struct thread_call *call);

/* Whether the address is in the data of the named libraries or the loader: locks there are theirs. */
bool thread_code_in_runtime(const struct mappings *mappings, uint64_t address);
