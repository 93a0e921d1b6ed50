/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks of asyncio: where each one's coroutines stand and what it awaits.  Also Python's names of the threads. */
#pragma once

#include "dump/process/python.h"
#include "target/python/python_objects.h"

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
	uint64_t task_type, future_type; /* of the interpreter whose tasks are visited */
	bool of_set; /* the visited objects are in a set, which may have tasks of other types, too */
	ARRAY(struct raw_task) list;
	struct lookup places;  /* index in `list`, by the object's address */
	struct lookup threads; /* index of a Python thread, by its ident */
	uint64_t loop;	       /* the loop that was looked up last */
	pid_t loop_tid;	       /* the thread that runs it */
};

#define TASK_INTERPRETERS_MAX 16

/* Where an interpreter keeps what is read; 0: nowhere. */
struct task_modules {
	uint64_t interpreter;
	uint64_t threads;		 /* threading._active */
	uint64_t task_type, future_type; /* of _asyncio; task_type 0: no tasks that are known */
	uint64_t all, scheduled, eager;	 /* of asyncio.tasks: up to 3.11, since 3.12, both */
};

struct task_places {
	unsigned count;
	struct task_modules of[TASK_INTERPRETERS_MAX];
};

/* Searches all modules, which takes longer than reading the tasks. */
void tasks_find(struct python_look *look, struct dump_process *process, struct task_places *out);

/* Fills in the process's tasks, and the Python names of its threads. */
void tasks_read(struct python_look *look, struct dump_process *process, const struct task_places *places);

/* Fills in what a task awaits. */
void task_words(struct task_reader *tasks, const struct raw_task *raw);
