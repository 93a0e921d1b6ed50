/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts about threads from /proc, only of files that never wait for the process's memory or its files. */
#pragma once

#include "dump/process/arena.h"
#include "dump/process/dump.h"

/* Fills in the threads of the process; -ESRCH: it has ended, -ENOMEM. */
int kernel_threads(struct arena *arena, struct dump_process *process);

/* Shows whether a thread has run: all members are equal in two looks only if it has not run between them. */
struct thread_runs {
	uint64_t run_ns, switches;
	char state;
	bool in_call;
	long call;
	uint64_t args[6], sp, pc;
};

struct thread_runs runs_of(const struct dump_thread *thread);

/* Whether it waits, and has waited since an earlier look. */
bool has_not_run_since(const struct thread_runs *earlier, const struct dump_thread *thread);

/* Reads again what changes of one thread. */
void kernel_thread_again(pid_t pid, struct dump_thread *thread);
