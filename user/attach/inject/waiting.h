/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Agents that wait in their processes for a request (gputrace/share.h): no thread of the process has to be stopped. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether an agent waits in that process and gputrace may talk to it. */
bool waiting_agent_is_there(pid_t pid);

/*
 * Sends the request GPUTRACE_AGENT_START. 0: it has begun, and reports all else itself; -ENOENT: no agent waits;
 * -EBUSY: it is at work; -EAGAIN: it does not answer now. Takes two seconds at most.
 */
int waiting_agent_ask(pid_t pid, const char *asked);
