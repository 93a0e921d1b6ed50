/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holding a process of ours while probes go in, and making sure all goes on whatever becomes of us: a small process
 * of its own (gputrace-guard) outlives us when we are killed, continues everything that was left stopped, and takes
 * out the probes.  That, too: Linux 6.18.15 panics when the links of fast probes are closed by a task that has no
 * memory any more, as one has that dies (set_orig_insn, kernel/events/uprobes.c).
 */
#ifndef GPUTRACE_GUARD_H
#define GPUTRACE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct guard {
	pid_t pid; /* 0: none */
};

/*
 * Starts it; `processes_map` (a map of struct gpt_process_state by pid) says who is ours, `holds` whether any can be.
 * It has the same table of files as we: what we open it holds.  To be called by the thread that lives longest.  -errno
 */
int guard_start(struct guard *guard, int processes_map, bool holds);
/* At an orderly end, with nothing held and nothing attached. */
void guard_stop(struct guard *guard);

/* Waits until the process has come to the stop that was asked for; false when it does not (within 500 ms). */
bool hold_wait_stopped(pid_t pid);
void hold_continue(pid_t pid);

#endif
