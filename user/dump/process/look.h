/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks at processes, usually twice.  A child of gputrace's own looks at each process, and is abandoned when the
 * process's memory or files do not answer.  Then only the kernel's facts about its threads are known.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "dump/process/arena.h"
#include "dump/process/dump.h"

#define LOOKS_DISTANCE_MS 500

struct look {
	struct arena *arena;
	struct dump_process *process;	 /* in the arena */
	pid_t child;			 /* 0: none, or it has ended */
	uint64_t run_ns, waits_since_ns; /* the child's, as last seen */
};

typedef ARRAY(struct look) look_list;

enum look_depth {
	LOOK_STACKS, /* once: its threads and their Python stacks, without what they wait for */
	LOOK_ALL,    /* twice */
	LOOK_LOCALS, /* with the values of local variables */
};

#define LOOK_MEMORY_MAX (1ull << 30) /* bytes that such a child may take, besides its results */

/*
 * What a child does first that looks at a process, with a name for ps: it ends with gputrace, and has no files but
 * `keep` (-1: none).  Returns the number that this one has from then on.
 */
int look_child_begin(const char *name, int keep);

/* The looks themselves, in the child of look_start. */
void look_run(struct look *look, enum look_depth depth) __attribute__((noreturn));

/* Whether the child of a look does not go on: it waits for the process, or has run for too long. */
bool look_is_stuck(struct look *look);

/*
 * Starts the looks at a process.  -errno: no memory for them or no child could be forked; then `refused` has the
 * reason.  The caller owns the look in any case.
 */
int look_start(struct look *look, pid_t pid, enum look_depth depth);

/* Waits for all looks; abandons those whose child is blocked by the process it looks at. */
void looks_finish(look_list *looks);
void looks_free(look_list *looks);
