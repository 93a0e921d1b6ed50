/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* gputrace's threads in another program's process. */
#pragma once

#include <stdbool.h>

/*
 * Starts a detached thread, inside the gate (fork_gate.h). It blocks all signals: the application's handlers must not
 * run on a thread that the application did not create. Returns when the thread has made the C library's system calls
 * of its start: a program that sandboxes itself afterwards need not allow them.
 */
bool own_thread_start(void (*run)(void));

/* Gives the calling thread an empty descriptor table. False: not possible (needs Linux 5.9); it keeps the program's. */
bool own_table_begin(void);

/*
 * Runs `run` on a thread with an empty descriptor table and returns when it has ended. The program cannot close what it
 * opens there, and the agent cannot take a file of the program for its own. `run` may not take a lock that a fork
 * leaves behind, as the thread is not inside the gate. Before Linux 5.9, or if no thread can be made, it has the
 * program's table; under a seccomp filter it runs on the calling thread.
 */
void own_table_run(void (*run)(void *context), void *context);

/* Why the thread could not be made, as far as can be seen now: the limit's name. */
const char *own_thread_why_not(void);
