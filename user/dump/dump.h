/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the threads of a process do at this moment: their stacks, what they wait for and for whom, and whether they get
 * on.  Nothing in the process is stopped, called or written.
 */
#ifndef GPUTRACE_DUMP_H
#define GPUTRACE_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define DUMP_FRAMES_MAX 128   /* of a stack are kept ... */
#define DUMP_FRAMES_OUTER 16  /* ... of which that many are the outermost */
#define DUMP_THREADS_MAX 8192 /* of a process */
#define DUMP_LOCALS_MAX 64    /* of a frame */
#define DUMP_POLLED_MAX 16    /* files that a thread waits for at once */

struct dump_local {
	const char *name, *value;
};

struct dump_frame {
	const char *function; /* NULL: not a frame; `line` says how many were left out */
	const char *file;
	uint32_t line; /* 0: not known */
	unsigned local_count;
	struct dump_local *locals; /* where they were asked for */
};

enum wait_kind {
	WAIT_NONE,    /* it runs */
	WAIT_UNKNOWN, /* why it does not run cannot be seen */
	WAIT_CALL,    /* a system call of which no more is known */
	WAIT_STOPPED,
	WAIT_TRACED,
	WAIT_FROZEN,
	WAIT_FAULT, /* a page of its memory */
	WAIT_GIL,
	WAIT_LOCK,   /* threading.Lock, threading.RLock and what is made of them */
	WAIT_IMPORT, /* a module that another thread imports */
	WAIT_JOIN,   /* the end of a thread */
	WAIT_MUTEX,
	WAIT_FUTEX,
	WAIT_FILE, /* any descriptor: a pipe, a socket, a terminal, a device */
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_SIGNAL,
	WAIT_CUDA,
	WAIT_KINDS,
};

/* A word for programs. */
const char *wait_kind_name(enum wait_kind kind);

/* A file that a thread waits for, and the processes that have its other end. */
struct dump_file {
	int fd;
	bool writes;	  /* it waits to write; else to read */
	const char *path; /* as /proc/PID/fd has it: pipe:[123] */
	uint64_t inode;	  /* of a pipe or a socket, 0: another file */
	uint64_t peer;	  /* the inode that its other end has, 0: not known */
	const pid_t *others;
	unsigned other_count;
};

struct dump_wait {
	enum wait_kind kind;
	const char *text;  /* "waits for the GIL, ..." */
	uint64_t address;  /* of a futex or a lock, 0: none */
	pid_t owner_pid;   /* for whom, 0: not known or no one */
	pid_t owner_tid;   /* 0: the process as a whole */
	const char *where; /* where the owner has taken it, NULL: not known */
	struct dump_file files[DUMP_POLLED_MAX];
	unsigned file_count;
};

struct dump_thread {
	pid_t tid, ns_tid;	 /* ns_tid: in its own pid namespace */
	char name[16];		 /* what the kernel calls it */
	const char *python_name; /* threading.Thread.name, NULL: not known */
	bool has_tasks;		 /* it runs a loop of asyncio that has some */
	char state;		 /* as in /proc/PID/stat */
	char wchan[64];		 /* "": not known */
	uint64_t run_ns;	 /* on a processor, since it was started */
	uint64_t switches;	 /* that it made itself */
	pid_t tracer;
	bool in_call; /* the next ones are known: it is in a system call, or waits for a page */
	long call;    /* number of the system call, -1: none */
	uint64_t args[6];
	uint64_t sp, pc;
	const char *native;  /* the function that pc lies in, NULL: not known */
	const char *library; /* and its file */

	uint64_t tstate;	   /* 0: no Python thread */
	uint64_t pthread;	   /* threading.get_ident() */
	struct dump_frame *frames; /* innermost first */
	unsigned frame_count;
	uint64_t stack_hash;	   /* of all frames that were walked */
	bool torn;		   /* it changed while it was read, each time */
	bool unreadable;	   /* the list of frames leads nowhere or has no end */
	uint64_t not_run_ns;	   /* it waits, and has not run for so long or longer; 0: not known */
	uint64_t same_frames_ns;   /* for so long, each look has seen these frames; 0: not known */
	bool holds_gil, wants_gil; /* wants: in one of the looks it waited for it */

	struct dump_wait wait;
	bool moves; /* between the two looks */
	uint64_t moved_run_ns, moved_switches;
	bool in_cycle;
};

/* A task of asyncio that is not done. */
struct dump_task {
	uint64_t id, loop;	   /* addresses of the task's and its loop's object */
	const char *name;	   /* NULL: 3.7 has none */
	pid_t tid;		   /* of the thread that runs its loop, 0: none is seen to */
	const char *kind;	   /* of what it awaits, a word for programs (docs/formats.md) */
	const char *text;	   /* "waits for task Task-2" */
	unsigned awaits;	   /* number of a task from 1, the first where it awaits several; 0: none */
	unsigned cycle;		   /* number of its cycle from 1, 0: in none */
	bool torn;		   /* it changed while it was read, each time */
	struct dump_frame *frames; /* coroutines, innermost first */
	unsigned frame_count;
};

enum work_state {
	WORK_SCHEDULED, /* given to NCCL or gloo */
	WORK_STARTED,	/* and PyTorch has seen that it began */
	WORK_COMPLETED,
	WORK_GIVEN_UP, /* PyTorch waits for it no more, and has not seen its end: it timed out, or failed */
	WORK_UNKNOWN,
};

/* A word for programs. */
const char *work_state_name(enum work_state state);

/* A collective, a send or a receive, as PyTorch's Flight Recorder has it. */
struct dump_work {
	const char *name; /* "nccl:all_reduce" */
	uint64_t number;  /* of the collectives of its group, the same in all ranks; or of its sends and receives */
	bool is_p2p;
	enum work_state state;
	int64_t since_ns; /* when it was given away, CLOCK_REALTIME */
	/* The rest only of what has not completed. */
	const char *sizes; /* of its inputs, NULL: not known */
	struct dump_frame *frames;
	unsigned frame_count;
};

static inline bool work_is_over(const struct dump_work *work)
{
	return work->state != WORK_SCHEDULED && work->state != WORK_STARTED;
}

/* A process group, with what was recorded of it in its order. */
struct dump_group {
	uint64_t id; /* in its process, of one recorder */
	const char *name, *description;
	const uint64_t *ranks; /* its members, as ranks of the job; NULL: not known */
	unsigned rank_count;
	struct dump_work *works;
	unsigned work_count;
};

enum dump_stage {
	STAGE_BEGUN,   /* nothing is known yet */
	STAGE_KERNEL,  /* what the kernel knows of its threads */
	STAGE_THREADS, /* also stacks and waits: all */
};

struct dump_process {
	const char *host; /* of a dump that was made elsewhere, NULL: here */
	pid_t pid, parent;
	const char *name;
	/* RANK, WORLD_SIZE and MASTER_ADDR:MASTER_PORT that its program was started with, NULL: it was not */
	const char *rank, *world_size, *job;
	const char *ras_address; /* NCCL_RAS_ADDR of the same environment, NULL: it has none */
	const char *refused;	 /* why there is nothing to say, NULL: there is */
	const char *python;	 /* version, NULL: none */
	const char *no_python;	 /* why its Python cannot be seen, NULL: it has none, or it is seen */
	char state;		 /* of its first thread */
	bool forked, frozen, moves, silent;
	const char *ended_children; /* zombies that it has not waited for, NULL: none */
	pid_t gil_holder;	    /* tid, 0: no one or not known */
	struct dump_thread *threads;
	unsigned thread_count, threads_left_out;
	struct dump_task *tasks;
	unsigned task_count, task_cycles;
	unsigned tasks_left_out;
	const char *no_tasks;	   /* why the tasks of its asyncio are not known, NULL: they are, or it has none */
	bool has_torch;		   /* PyTorch's libraries are mapped */
	struct dump_group *groups; /* of its Flight Recorders, each group's of one recorder */
	unsigned group_count;
	int64_t groups_at_ns; /* CLOCK_REALTIME, when they were read */
	uint64_t look_ns;     /* the longer of the two looks */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC, before the latest look at its threads, 0: there was none */
	_Atomic int stage;    /* enum dump_stage */
};

/* NULL equals itself. */
static inline bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

#endif
