/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the thread of a process that may be borrowed, and when: from /proc alone, nothing is stopped for it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/inject/thread_code.h"

/* A further condition on a thread that is blocked in this call. */
enum safe_point_condition {
	SAFE_POINT_ALWAYS,
	SAFE_POINT_FRESH,  /* just begun: it cannot be resumed with the rest of its time-out */
	SAFE_POINT_SOCKET, /* its descriptor is no socket, or a socket without a time-out */
};

struct safe_point {
	unsigned rank; /* 0: never; else higher is better */
	enum safe_point_condition condition;
};

/* Judges the call alone. */
struct safe_point safe_point_of_call(const struct thread_call *call);

struct safe_thread {
	pid_t tid;
	uint64_t descriptor; /* stack.h */
	struct thread_call call;
	struct thread_status status;
};

/*
 * Chooses the best thread now, and does not stop it. -EAGAIN with a reason if there is none at this moment; takes up to
 * 20 ms.
 */
int safe_point_choose(const struct entered_process *process, struct safe_thread *out, const char **why);

/*
 * For a process that never waits: chooses a running thread, with call.number SYSCALL_RUNNING. Its position is only
 * known once it is stopped, by safe_point_of_stop.
 */
int safe_point_choose_running(const struct entered_process *process, struct safe_thread *out);

/* Whether a thread that was stopped outside of a system call may be borrowed there. */
bool safe_point_of_stop(const struct entered_process *process, struct safe_thread *thread, uint64_t pc, uint64_t sp,
			uint64_t fs_base);
