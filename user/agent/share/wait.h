/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Waiting to be asked by a gputrace of the same user, which then needs no right to stop a thread (gputrace/share.h). */
#ifndef GPUTRACE_AGENT_SHARE_WAIT_H
#define GPUTRACE_AGENT_SHARE_WAIT_H

#include <stdbool.h>

/*
 * Begins to wait where the environment says so (GPUTRACE_WAIT), once in a process; at once back.  Two threads, which
 * do nothing until they are asked.  `start` is called on one of them: as agent_start_deferred; false: it is at work.
 */
void share_wait(bool (*start)(const char *asked));

#endif
