/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks of asyncio: where each one's coroutines stand and what it awaits; and what Python calls its threads. */
#ifndef GPUTRACE_DUMP_TASKS_H
#define GPUTRACE_DUMP_TASKS_H

#include "dump/python.h"
#include "target/python_objects.h"

#define CHAIN_MAX 64 /* coroutines of which each awaits the next */

/* What of an _asyncio.Task is read, as offsets. */
struct task_layout {
	unsigned version, bytes; /* bytes: its type's size, which says that it is this layout */
	unsigned state, waiter, coro, name, node;
};

/* A coroutine and those that it awaits, where they lie, outermost first. */
struct chain {
	unsigned count;
	bool runs, begun;
	struct raw_frame frames[CHAIN_MAX];
};

struct raw_task {
	uint64_t object, waiter;	 /* waiter: the Future that it awaits, 0: none */
	uint64_t task_type, future_type; /* of its interpreter */
	unsigned number;		 /* of its struct dump_task, from 1; 0: it has ended meanwhile */
	bool torn;
	struct chain chain;
};

/* Of one process, while they are read. */
struct task_reader {
	struct python_look *look;
	struct python_reader reader;
	struct dump_process *process;
	const struct task_layout *layout;
	uint64_t task_type, future_type; /* of the interpreter that is looked at */
	bool of_set;			 /* what is visited is in a set, which may have tasks of other types, too */
	ARRAY(struct raw_task) list;
	struct lookup places; /* in it, by the address of the object */
	uint64_t loop;	      /* the last one that was asked for, */
	pid_t loop_tid;	      /* and the thread that runs it */
};

/* Fills in the process's tasks, and its threads' names in Python. */
void tasks_read(struct python_look *look, struct dump_process *process);

/* Fills in what a task awaits. */
void task_words(struct task_reader *tasks, const struct raw_task *raw);

#endif
