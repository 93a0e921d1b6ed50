/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the threads of a process do at this moment: their stacks, what and whom they wait for, and whether they make
 * progress.  Nothing in the process is stopped, called or written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define DUMP_FRAMES_MAX 128    /* kept of a stack ... */
#define DUMP_FRAMES_OUTER 16   /* ... the outermost among them */
#define DUMP_THREADS_MAX 16384 /* per process */
#define DUMP_LOCALS_MAX 64     /* per frame */
#define DUMP_POLLED_MAX 16     /* files for which a thread waits at once */

struct dump_local {
	const char *name, *value;
};

struct dump_frame {
	const char *function; /* NULL: not a frame; `line` is the number of frames left out */
	const char *file;
	uint32_t line;	     /* 0: not known */
	uint32_t first_line; /* of the function; 0: not known, or not asked for */
	unsigned local_count;
	struct dump_local *locals; /* if they were asked for */
};

enum wait_kind {
	WAIT_NONE,    /* it runs */
	WAIT_UNKNOWN, /* it does not run, and the reason cannot be seen */
	WAIT_CALL,    /* some other system call */
	WAIT_STOPPED,
	WAIT_TRACED,
	WAIT_FROZEN,
	WAIT_FAULT, /* a page of its memory */
	WAIT_GIL,
	WAIT_LOCK,   /* threading.Lock, threading.RLock and what is built on them */
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

/* The word in JSON (docs/formats.md). */
const char *wait_kind_name(enum wait_kind kind);

/* A file for which a thread waits, and the processes that have its other end. */
struct dump_file {
	int fd;
	bool writes;	  /* the thread waits to write; else to read */
	const char *path; /* as in /proc/PID/fd: pipe:[123] */
	uint64_t inode;	  /* of a pipe or a socket, 0: another file */
	uint64_t peer;	  /* the inode of its other end, 0: not known */
	const pid_t *others;
	unsigned other_count;
};

struct dump_wait {
	enum wait_kind kind;
	const char *text;  /* "waits for the GIL, ..." */
	uint64_t address;  /* of a futex or a lock, 0: none */
	pid_t owner_pid;   /* the process waited for, 0: not known or none */
	pid_t owner_tid;   /* its thread, 0: the process as a whole */
	const char *where; /* where the owner has taken the lock, NULL: not known */
	struct dump_file files[DUMP_POLLED_MAX];
	unsigned file_count;
};

struct dump_thread {
	pid_t tid, ns_tid;	 /* ns_tid: in its own pid namespace */
	char name[16];		 /* comm, the kernel's name */
	const char *python_name; /* threading.Thread.name, NULL: not known */
	bool has_tasks;		 /* it runs an asyncio loop that has tasks */
	char state;		 /* as in /proc/PID/stat */
	char wchan[64];		 /* "": not known */
	uint64_t run_ns;	 /* time on a processor since its start */
	uint64_t switches;	 /* voluntary context switches */
	pid_t tracer;
	bool in_call; /* it is in a system call or waits for a page, and call, args, sp and pc are known */
	long call;    /* number of the system call, -1: none */
	uint64_t args[6];
	uint64_t sp, pc;
	const char *native;  /* the function at pc, NULL: not known */
	const char *library; /* and its file */

	uint64_t tstate;	   /* 0: no Python thread */
	uint64_t pthread;	   /* threading.get_ident() */
	struct dump_frame *frames; /* innermost first */
	unsigned frame_count;
	uint64_t stack_hash;	   /* of all frames that were walked */
	bool torn;		   /* the stack changed during each attempt to read it */
	bool unreadable;	   /* the list of frames is broken or endless */
	uint64_t not_run_ns;	   /* it waits, and has not run for at least this long; 0: not known */
	uint64_t same_frames_ns;   /* how long all looks have seen these frames; 0: not known */
	bool holds_gil, wants_gil; /* wants: it waited for the GIL in one of the looks */

	struct dump_wait wait;
	bool moves; /* it made progress between the two looks */
	bool polls; /* it woke only to sleep again at the same line */
	uint64_t moved_run_ns, moved_switches;
	bool in_cycle;
};

/* A task of asyncio that is not done. */
struct dump_task {
	uint64_t id, loop;	   /* addresses of the task object and its loop object */
	const char *name;	   /* NULL: 3.7 has none */
	pid_t tid;		   /* of the thread that runs its loop, 0: no such thread is seen */
	const char *kind;	   /* kind of what it awaits, the word in JSON (docs/formats.md) */
	const char *text;	   /* "waits for task Task-2" */
	unsigned awaits;	   /* number, from 1, of the first task that it awaits; 0: none */
	unsigned cycle;		   /* number of its cycle from 1, 0: in none */
	bool torn;		   /* it changed during each attempt to read it */
	struct dump_frame *frames; /* coroutines, innermost first */
	unsigned frame_count;
};

enum work_state {
	WORK_SCHEDULED, /* handed to NCCL or gloo */
	WORK_STARTED,	/* PyTorch has also seen its start */
	WORK_COMPLETED,
	WORK_GIVEN_UP, /* PyTorch no longer waits for it and has not seen its end: it timed out, or failed */
	WORK_UNKNOWN,
};

/* The word in JSON (docs/formats.md). */
const char *work_state_name(enum work_state state);

/* A collective, a send or a receive, as recorded by PyTorch's Flight Recorder. */
struct dump_work {
	const char *name; /* "nccl:all_reduce" */
	uint64_t number;  /* among the group's collectives, the same in all ranks; or among its sends and receives */
	bool is_p2p;
	enum work_state state;
	int64_t since_ns; /* when it was handed over, CLOCK_REALTIME */
	/* The rest is set only while the work has not completed. */
	const char *sizes; /* of its inputs, NULL: not known */
	struct dump_frame *frames;
	unsigned frame_count;
};

static inline bool work_is_over(const struct dump_work *work)
{
	return work->state != WORK_SCHEDULED && work->state != WORK_STARTED;
}

/* A process group and its recorded works, in their order. */
struct dump_group {
	uint64_t id; /* unique within one recorder of the process */
	const char *name, *description;
	const uint64_t *ranks; /* its members, as ranks of the job; NULL: not known */
	unsigned rank_count;
	struct dump_work *works;
	unsigned work_count;
};

enum dump_stage {
	STAGE_BEGUN,   /* nothing is known yet */
	STAGE_KERNEL,  /* the kernel's facts about its threads */
	STAGE_THREADS, /* also stacks and waits: everything */
};

struct dump_process {
	const char *host; /* where the dump was made, NULL: here */
	pid_t pid, parent;
	const char *name;
	/* RANK, WORLD_SIZE and MASTER_ADDR:MASTER_PORT of the environment at exec, NULL: not set */
	const char *rank, *world_size, *job;
	const char *ras_address; /* NCCL_RAS_ADDR of the same environment, NULL: not set */
	const char *refused;	 /* why nothing is known of it, NULL: not refused */
	const char *python;	 /* version, NULL: none */
	const char *no_python;	 /* why its Python cannot be seen, NULL: it has none, or it is seen */
	char state;		 /* of its first thread */
	bool forked, frozen, moves, silent;
	const char *ended_children; /* zombies that it has not waited for, NULL: none */
	pid_t gil_holder;	    /* tid, 0: none or not known */
	struct dump_thread *threads;
	unsigned thread_count, threads_left_out;
	struct dump_task *tasks;
	unsigned task_count, task_cycles;
	unsigned tasks_left_out;
	const char *no_tasks;	   /* why the tasks of its asyncio are not known, NULL: they are, or it has none */
	bool has_torch;		   /* PyTorch's libraries are mapped */
	struct dump_group *groups; /* of its Flight Recorders; each group is of one recorder */
	unsigned group_count;
	int64_t groups_at_ns; /* CLOCK_REALTIME, when they were read */
	uint64_t look_ns;     /* duration of the longer of the two looks */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC, start of the latest look at its threads, 0: there was none */
	_Atomic int stage;    /* enum dump_stage */
};

/* NULL equals itself. */
static inline bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}
