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

/* The calling thread gets an empty table of descriptors. False: it cannot (Linux 5.9), and has the program's. */
bool own_table_begin(void);

/*
 * Runs it on a thread with an empty table of descriptors, and comes back when it has ended.  What it opens there the
 * program cannot close, and the agent cannot take a file of the program's for its own.  It may not take a lock that a
 * fork leaves behind, as the thread is not inside the gate.  Before Linux 5.9, under a filter of system calls, or where
 * there is no room for a thread, it has the program's table.
 */
void own_table_run(void (*run)(void *context), void *context);

/* Why that one could not be made, as far as can be seen now: the limit's name. */
const char *own_thread_why_not(void);

#endif
