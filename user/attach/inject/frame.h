/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stack frame for one function call in a thread of another process. gputrace stops the thread, writes this frame
 * below its stack pointer, and lets it call the function. The frame's return addresses lead the thread back to where it
 * was, also when gputrace has died meanwhile. This part computes bytes only; it touches no process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach/inject/addresses.h"

#define XSTATE_MAX 16384u /* AMX's makes it 11,008 */
#define FRAME_MAX (XSTATE_MAX + 4096u)

/* The state of a stopped thread, to be restored after the call. */
struct borrowed {
	struct user_regs_struct regs; /* to resume with; an interrupted system call is restarted */
	uint64_t blocked;	      /* signals */
	uint32_t error;		      /* errno */
	size_t xstate_bytes;
	uint8_t xstate[XSTATE_MAX]; /* NT_X86_XSTATE */
};

struct frame {
	uint64_t address; /* of bytes[0] in the process: the stack pointer at the call */
	uint64_t path;	  /* address of the path in the process */
	size_t size;
	uint8_t bytes[FRAME_MAX];
};

#define FRAME_PATH_MAX 256u /* bytes of a path with its NUL */

/* Call once before frame_build, from one thread: does the slow part while nothing is stopped. */
void frame_prepare(void);

/*
 * The call returns into raise(signal), where a tracer takes over. Without one, and with the signal ignored, the thread
 * goes on: it calls dlerror() if the call `loads`, restores errno, and returns to `thread` by rt_sigreturn. path: first
 * argument of the call, NULL: none.
 */
int frame_build(const struct inject_addresses *addresses, const struct borrowed *thread, const char *path, bool loads,
		int signal, struct frame *out);
