/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Agents that wait in their processes to be asked (gputrace/share.h): no thread of theirs has to be stopped. */
#ifndef GPUTRACE_ATTACH_INJECT_WAITING_H
#define GPUTRACE_ATTACH_INJECT_WAITING_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether one waits in that process, to which gputrace may speak. */
bool waiting_agent_is_there(pid_t pid);

/*
 * Asks it: GPUTRACE_AGENT_START.  0: it has begun, and reports all else itself; -ENOENT: none waits; -EBUSY: it is at
 * work; -EAGAIN: it does not answer now.  Takes two seconds at most.
 */
int waiting_agent_ask(pid_t pid, const char *asked);

#endif
