/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a thread does not run: by its system call, its state in the kernel, and the locks in its memory. */
#pragma once

#include "dump/process/held.h"
#include "dump/process/native.h"
#include "dump/process/owners.h"
#include "dump/process/pools.h"

/* State of the process that looks at one process. */
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
	struct pools pools;
	struct owners owners;
};

/* Fills in `wait` of the thread `index`, except for other processes, which peers.h adds. */
void waits_find(struct looker *looker, unsigned index);

/* Finds the lock, module or thread for which a Python thread waits at a futex; false: none of these. */
bool waits_find_python(struct looker *looker, unsigned index, uint64_t futex);

/* Add files to thread->wait: one; those of its poll, its select, and its epoll_wait. */
void waits_add_file(struct looker *looker, struct dump_thread *thread, int fd, bool writes);
void waits_add_polled(struct looker *looker, struct dump_thread *thread);
void waits_add_selected(struct looker *looker, struct dump_thread *thread);
void waits_add_watched(struct looker *looker, struct dump_thread *thread);

/* "a pipe", or its path. */
const char *waits_file_kind(const struct dump_file *file);

/* Says what was added; name: of the call; verb: "to read from", NULL: as the files are waited for. */
void waits_say_files(struct looker *looker, struct dump_wait *wait, const char *name, const char *verb);
