/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a thread's seccomp filters would kill it for the agent's system calls. */
#ifndef GPUTRACE_ATTACH_INJECT_SECCOMP_H
#define GPUTRACE_ATTACH_INJECT_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Checks all filters of a stopped thread: 0: it survives; -EACCES: it would be killed; other -errno: they cannot be
 * read.
 */
int seccomp_check(pid_t tid);

#endif
