/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads, while a recording runs, where the tasks of asyncio await in waits of their loop's thread: a process of
 * gputrace's own that looks at the thread every few ms, and at the tasks once in a wait.  It may block on a page of a
 * target, and is then given up (attach/awaits.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOPS_PROCESSES 64u
#define LOOPS_FRAMES 32u /* innermost coroutines of a task; the last one is the outermost */
#define LOOPS_TEXT 32768u

struct loops_process {
	_Atomic uint32_t pid;	/* 0: none */
	_Atomic uint64_t image; /* changes when it execs, or another process has the pid */
};

/* Memory that both processes have.  The reader's own member is busy. */
struct loops_shared {
	struct loops_process processes[LOOPS_PROCESSES];
	_Atomic uint64_t busy; /* pid << 32 | a number: the process that it reads, and which of its reads; 0: none */
};

struct loops_frame {
	uint32_t line, first_line; /* 0: not known; of the function */
	uint16_t function, file;   /* in the text */
};

/* What the reader sends: where one or more tasks await.  The times and numbers as in struct gpt_await. */
struct loops_await {
	uint64_t time_ns, end_ns, image;
	uint32_t pid, tid, tasks, all;
	uint32_t frame_count; /* innermost first */
	struct loops_frame frames[LOOPS_FRAMES];
	char text[LOOPS_TEXT]; /* of which no more is sent than is used */
};

/* The reader: sends a struct loops_await in each message, until it is killed or its parent ends. */
void __attribute__((noreturn)) loops_serve(struct loops_shared *shared, pid_t parent, int socket);
