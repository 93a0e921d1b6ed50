/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small process of its own (gputrace-guard; one at most) that outlives gputrace when it is killed, and takes out the
 * probes.
 *
 * It also makes the system calls that put probes in and take them out.  The kernel gives up in the middle of them when
 * the caller is being killed ("failed to unregister, leaking uprobe"): the probe stays in its process, and so does the
 * semaphore that keeps an agent at work.  And Linux 6.18.15 panics when the links of fast probes are closed by a task
 * that has no memory any more, as one has that dies (set_orig_insn, kernel/events/uprobes.c).
 */
#ifndef GPUTRACE_ATTACH_LOAD_GUARD_H
#define GPUTRACE_ATTACH_LOAD_GUARD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts it.  It has the same table of files as we: what we open it holds.  To be called by the thread that lives
 * longest, which makes the other calls, too.  -errno
 */
int guard_start(void);
/* At an orderly end, with nothing attached. */
void guard_stop(void);

#define GUARD_ARGUMENTS 5
#define GUARD_MEMORY (1u << 20)

/*
 * Memory that the guard sees too, 8-byte aligned, zeroed or not: for what the arguments of the next guard_call point
 * to, and gone with it.  NULL when that is too much.
 */
void *guard_memory(size_t bytes);

/* A system call made by the guard, or by us when there is none. What it returns, or -errno; -ESRCH also when the guard
 * was killed meanwhile. */
long guard_call(long number, const long arguments[GUARD_ARGUMENTS]);

/* Closes them, by the guard all at the same time: what takes probes out waits for the kernel. */
void guard_close(const int *fds, size_t count);

#endif
