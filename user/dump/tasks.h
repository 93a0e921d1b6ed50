/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks of asyncio: where each one's coroutines stand and what it awaits.  Also Python's names of the threads. */
#ifndef GPUTRACE_DUMP_TASKS_H
#define GPUTRACE_DUMP_TASKS_H

#include "dump/python.h"
#include "target/python_objects.h"

#define CHAIN_MAX 64 /* coroutines, each awaiting the next */

/* Offsets of the members of an _asyncio.Task that are read. */
struct task_layout {
	unsigned version, bytes; /* bytes: the type's size, which identifies the layout */
	unsigned state, waiter, coro, name, node;
};

/* A coroutine and the ones that it awaits, as raw frames, outermost first. */
struct chain {
	unsigned count;
	bool runs, begun;
	struct raw_frame frames[CHAIN_MAX];
};

struct raw_task {
	uint64_t object, waiter;	 /* waiter: the Future that it awaits, 0: none */
	uint64_t task_type, future_type; /* its interpreter's types */
	unsigned number;		 /* of its struct dump_task, from 1; 0: it has ended meanwhile */
	bool torn;
	struct chain chain;
};

/* State while the tasks of one process are read. */
struct task_reader {
	struct python_look *look;
	struct python_reader reader;
	struct dump_process *process;
	const struct task_layout *layout;
	uint64_t task_type, future_type; /* types of the current interpreter */
	bool of_set; /* the visited objects are in a set, which may have tasks of other types, too */
	ARRAY(struct raw_task) list;
	struct lookup places;  /* index in `list`, by the object's address */
	struct lookup threads; /* index of a Python thread, by its ident */
	uint64_t loop;	       /* the loop that was looked up last */
	pid_t loop_tid;	       /* the thread that runs it */
};

/* Fills in the process's tasks, and the Python names of its threads. */
void tasks_read(struct python_look *look, struct dump_process *process);

/* Fills in what a task awaits. */
void task_words(struct task_reader *tasks, const struct raw_task *raw);

#endif
