/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Waits for a request of a gputrace of the same user, which then needs no right to stop a thread (gputrace/share.h). */
#pragma once

#include <stdbool.h>

/*
 * Begins to wait if the environment says so (GPUTRACE_WAIT), once in a process; returns at once. Makes two threads,
 * idle until a request comes. start_agent is called on one of them, as agent_start_deferred; false: the agent is at
 * work. False: it does not wait, as the program's filters of system calls may kill it for that.
 */
bool share_wait(bool (*start_agent)(const char *asked));
