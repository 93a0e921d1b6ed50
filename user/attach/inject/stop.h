/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stops a thread of another process, and lets it continue as if it had not been stopped. x86-64 only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#define STOP_MAX_NS 10000000000ULL
#define STOPS_MAX 1000 /* for signals: only a process that wants to delay gputrace sends itself so many */

struct stopped {
	pid_t pid, tid;
};

/* ptrace(2); 0 or -errno. */
int stop_ptrace(enum __ptrace_request request, pid_t tid, void *address, void *data);

/*
 * Stops the thread; signals that come first are the application's, and are passed on. 0; -EAGAIN if a signal (Ctrl-Z)
 * keeps it stopped, and it was let go; -ETIMEDOUT if it does not stop (stop_wait_late() lets it go then); -ESRCH;
 * -EPERM.
 */
int stop_thread(const struct stopped *thread);

/* Whether the kernel would let gputrace stop the thread, asked without a stop: 0, -EPERM, -ESRCH. */
int stop_ask(pid_t tid);

/* Waits for the next stop of a running thread; -ETIMEDOUT, -ESRCH. */
int stop_wait(pid_t tid, uint64_t timeout_ns, int *status);

bool stop_is_group_stop(int status);

/* The application's own signal with which the thread has stopped, to be passed on; NULL: none. */
void *stop_signal(int status);

/* Lets the thread run, with that signal. */
int stop_let_go(const struct stopped *thread, int status);

/* Continues from a gputrace stop, with nothing done: its system call goes on, too. */
int stop_undo(const struct stopped *thread);

/* Continues from any stop, with nothing done: stop_undo or stop_let_go. */
int stop_leave(const struct stopped *thread, int status);

/* Sets the registers so that the interrupted call `number` is made again. */
void stop_restart_call(struct user_regs_struct *regs, uint64_t number);

/*
 * Only a signal may end a call with EINTR, not a stop. True if regs, as they were at the stop, were changed; the kernel
 * itself restarts all other interrupted calls.
 */
bool stop_undo_interruption(const struct stopped *thread, struct user_regs_struct *regs);

/*
 * For a thread that did not stop in time: waits until it has stopped or ended, and lets it run. Call from the same
 * gputrace thread.
 */
void stop_wait_late(const struct stopped *thread);

/* From now on no wait is longer than 0.1 s, and no further thread should be stopped. */
void stop_hurry(void);
bool stop_hurries(void);
