/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a thread's seccomp filters would end it for what the agent has to do. */
#ifndef GPUTRACE_ATTACH_INJECT_SECCOMP_H
#define GPUTRACE_ATTACH_INJECT_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All filters of a stopped thread: 0: it lives; -EACCES: it would be killed; else they cannot be read. */
int seccomp_check(pid_t tid);

#endif
