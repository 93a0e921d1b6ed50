/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small process (gputrace-guard; at most one) that outlives a killed gputrace and takes out the probes.
 *
 * It also makes the system calls that put probes in and take them out. The kernel gives up in the middle of them when
 * the caller is being killed ("failed to unregister, leaking uprobe"): the probe stays in its process, and so does the
 * semaphore that keeps an agent at work. And Linux 6.18.15 panics when the links of fast probes are closed by a task
 * without memory, as a dying task is (set_orig_insn, kernel/events/uprobes.c).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts the guard. It shares gputrace's file descriptor table: it holds whatever gputrace opens. Call from the thread
 * that lives longest, which makes the other calls, too. 0 or -errno.
 */
int guard_start(void);
/* Ends the guard at an orderly end, with nothing attached. */
void guard_stop(void);

#define GUARD_ARGUMENTS 5
#define GUARD_MEMORY (1u << 20)

/*
 * Memory shared with the guard, 8-byte aligned, not necessarily zeroed: for data to which the arguments of the next
 * guard_call point; that call frees it. NULL if `bytes` is too much.
 */
void *guard_memory(size_t bytes);

/*
 * Has the guard make a system call, or makes it itself if there is no guard. Returns its result, or -errno; -ESRCH also
 * if the guard was killed meanwhile.
 */
long guard_call(long number, const long arguments[GUARD_ARGUMENTS]);

/* Closes the descriptors; the guard closes all at the same time, as removing a probe waits for the kernel. */
void guard_close(const int *fds, size_t count);
