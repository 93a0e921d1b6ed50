/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two looks at processes.  Each is looked at by a child of gputrace's own, which is given up when the process's memory
 * or files do not answer: then what the kernel knows of its threads is all there is.
 */
#ifndef GPUTRACE_DUMP_LOOK_H
#define GPUTRACE_DUMP_LOOK_H

#include "base/array.h"
#include "dump/arena.h"
#include "dump/dump.h"

#define LOOKS_DISTANCE_MS 500

struct look {
	struct arena *arena;
	struct dump_process *process;	 /* in it */
	pid_t child;			 /* 0: none, or it has ended */
	uint64_t run_ns, waits_since_ns; /* of the child, as last seen */
};

typedef ARRAY(struct look) look_list;

enum look_depth {
	LOOK_STACKS, /* once: its threads and their Python stacks, nothing of what they wait for */
	LOOK_ALL,    /* twice */
	LOOK_LOCALS, /* with the values of local variables */
};

/*
 * Starts the looks at a process.  -errno: there is no memory or process for one, and the look is refused with the
 * reason.  The look is the caller's in any case.
 */
int look_start(struct look *look, pid_t pid, enum look_depth depth);

/* Waits for them; one whose child waits for the process it looks at is given up. */
void looks_finish(look_list *looks);
void looks_free(look_list *looks);

#endif
