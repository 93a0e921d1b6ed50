/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holding a process of ours while probes go in, and making sure it goes on whatever becomes of us: a small process
 * of its own (gputrace-guard) outlives us when we are killed and continues everything that was left stopped.
 */
#ifndef GPUTRACE_GUARD_H
#define GPUTRACE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct guard {
	pid_t pid;    /* 0: none */
	int alive_fd; /* our end of a pipe: closes with us */
};

/* Starts it; `processes_map` (a map of struct gpt_process_state by pid) says who is ours. Before any link is made:
 * it keeps no other file of ours open. -errno */
int guard_start(struct guard *guard, int processes_map);
void guard_stop(struct guard *guard);

/* Waits until the process has come to the stop that was asked for; false when it does not (within 500 ms). */
bool hold_wait_stopped(pid_t pid);
void hold_continue(pid_t pid);

#endif
