/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a thread does not run, from its system call, the kernel's word and what its memory says of locks. */
#ifndef GPUTRACE_DUMP_WAITS_H
#define GPUTRACE_DUMP_WAITS_H

#include "dump/held.h"
#include "dump/native.h"

/* All that the process which looks knows of one. */
struct looker {
	struct dump_process *process;
	struct arena *arena;
	struct mappings mappings;
	struct native native;
	bool has_memory; /* its memory may be read */
	bool has_python;
	bool wants_locals;
	struct python_look python;
	struct held_values held;
};

/* Fills in `wait` of the thread at that index; what other processes have to do with it is peers.h. */
void waits_find(struct looker *looker, unsigned index);

/* A lock, a module or a thread that a Python thread waits for at a futex; false: it is none of these. */
bool waits_find_python(struct looker *looker, unsigned index, uint64_t futex);

#endif
