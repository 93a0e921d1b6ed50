/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a thread's seccomp filters would end it for what the agent has to do. */
#ifndef GPUTRACE_ATTACH_INJECT_SECCOMP_H
#define GPUTRACE_ATTACH_INJECT_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What one filter says of one call; SECCOMP_RET_KILL_PROCESS for a program that is none. */
unsigned seccomp_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data);

/* True when the filter lets a thread live that loads a library and starts a thread. */
bool seccomp_survives(const struct sock_filter *program, size_t count);

/* The same for all filters of a thread that we have stopped: 0, -EACCES it would die, else they cannot be read. */
int seccomp_check(pid_t tid);

#endif
