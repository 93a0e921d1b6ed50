/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which stack a thread is on, and how much of it is left: the call would overrun a fiber's or a goroutine's stack. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "target/process.h"

/*
 * Bytes required below the stack pointer. A dlopen of the agent takes 5 KB (glibc 2.36) and the way back 4 KB, 20 KB
 * where AMX is used (FRAME_MAX); the rest is for the loaders of other glibcs and for allocators.
 */
#define STACK_WANTED (128u << 10)

/*
 * The thread's descriptor (struct pthread of glibc) if sp is on the stack with which the thread was created, and in
 * *room the bytes below sp that it may use; 0 if not, or if that is not known. fs_base: of a stopped thread, 0: look
 * for it. The first thread, on the stack from the kernel, has no descriptor there: STACK_OF_PROCESS.
 */
#define STACK_OF_PROCESS 1u
uint64_t stack_find(pid_t pid, pid_t tid, const struct mappings *mappings, uint64_t sp, uint64_t fs_base,
		    uint64_t *room);

/* Bytes left of the process's own stack, which ends at `end` and is mapped from `start` on; limit: RLIMIT_STACK. */
uint64_t stack_room_to_grow(uint64_t sp, uint64_t start, uint64_t end, uint64_t limit, uint64_t below);

/*
 * Whether the words at `address` are the descriptor of the thread with that id, and sp is on its stack. *low: the
 * lowest usable address of that stack.
 */
#define STACK_DESCRIPTOR_WORDS 256u /* as many as are needed: what follows them may not be readable */
int stack_of_descriptor(const uint64_t *words, uint64_t address, pid_t ns_tid, uint64_t sp, uint64_t *low);
