/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* gputrace's threads in another program's process. */
#ifndef GPUTRACE_AGENT_OWN_THREAD_H
#define GPUTRACE_AGENT_OWN_THREAD_H

#include <stdbool.h>

/*
 * Detached, and inside the gate (fork_gate.h).  It blocks all signals: the application's handlers must not run on a
 * thread that it did not make.
 */
bool own_thread_start(void (*run)(void));

/* Why that one could not be made, as far as can be seen now: the limit's name. */
const char *own_thread_why_not(void);

#endif
