/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters that may not be read: whether they are gputrace's own, and what these do to the agent's calls. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "attach/inject/thread_state.h"

/* Whether gputrace may read the filters of a stopped thread: ptrace(2), PTRACE_SECCOMP_GET_FILTER. */
bool seccomp_may_read(void);

/* Makes the calls in a child, once, if gputrace has filters itself: call it before a thread is stopped. */
void seccomp_prepare(void);

/*
 * 0: the thread's filters are gputrace's own, and a child with them has made the calls; -ENOTSUP: the child was killed;
 * -EACCES: nothing says that they are gputrace's.
 */
int seccomp_try(pid_t pid, const struct thread_status *status);
