/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which stack a thread is on, and how much of it is left: a fiber's or a goroutine's would be overrun. */
#ifndef GPUTRACE_ATTACH_INJECT_STACK_H
#define GPUTRACE_ATTACH_INJECT_STACK_H

#include <stdint.h>
#include <sys/types.h>

#include "target/process.h"

/*
 * What is asked for below the stack pointer.  A dlopen of the agent takes 5 KB (glibc 2.36) and the way back 4 KB, 20
 * where AMX is used (FRAME_MAX); the rest is for the loaders of other glibcs and for allocators.
 */
#define STACK_WANTED (128u << 10)

/*
 * The thread's descriptor (struct pthread of glibc) if sp lies on the stack that the thread was made with, and in *room
 * the bytes below sp that it may use; 0 if it does not, or that is not known.  fs_base: of a stopped thread, 0: look
 * for it.  The first thread, on the stack that the kernel gave it, has no descriptor there: STACK_OF_PROCESS.
 */
#define STACK_OF_PROCESS 1u
uint64_t stack_find(pid_t pid, pid_t tid, const struct mappings *mappings, uint64_t sp, uint64_t fs_base,
		    uint64_t *room);

/* What is left of the process's own stack, which ends at `end` and is mapped from `start` on; limit: RLIMIT_STACK. */
uint64_t stack_room_to_grow(uint64_t sp, uint64_t start, uint64_t end, uint64_t limit, uint64_t below);

/*
 * Whether the words at `address` are a descriptor of the thread with that number, and sp lies on its stack. *low: the
 * lowest address of that stack that may be used.
 */
#define STACK_DESCRIPTOR_WORDS 256u /* what is needed of it; less than it has, as what follows may not be readable */
int stack_of_descriptor(const uint64_t *words, uint64_t address, pid_t ns_tid, uint64_t sp, uint64_t *low);

#endif
