/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a thread's seccomp filters would kill it for the agent's system calls. Only a process with CAP_SYS_ADMIN of
 * the host and without a filter of its own may read them. Another one takes them to be its own filters, where there is
 * evidence for that, and a child of it makes the calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/inject/thread_state.h"

/*
 * Checks all filters of a stopped thread, whose status was read. joins: the agent joins a collector without BPF. 0: it
 * survives; -ENOTSUP: it would be killed; -EACCES: they cannot be read, and need not be gputrace's own. why: the
 * reason.
 */
int seccomp_check(pid_t pid, pid_t tid, const struct thread_status *status, bool joins, char *why, size_t why_size);

/* The same without a stop: 0 also if the filters can only be read in a stop. why: also what is known of them then. */
int seccomp_foresee(pid_t pid, const struct thread_status *status, char *why, size_t why_size);
