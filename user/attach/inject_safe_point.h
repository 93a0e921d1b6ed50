/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread of a process may be borrowed, and when: decided from /proc alone, nothing is stopped for it. */
#ifndef GPUTRACE_ATTACH_INJECT_SAFE_POINT_H
#define GPUTRACE_ATTACH_INJECT_SAFE_POINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/process.h"

#define SYSCALL_RUNNING (-2)  /* on a CPU, or waiting for one */
#define SYSCALL_NONE (-1)     /* blocked, but not in a system call (a page fault) */
#define SYSCALL_RESTARTED 219 /* restart_syscall: a call with a time-out that was interrupted before */

struct thread_call {
	long number; /* or one of the above */
	uint64_t args[6];
	uint64_t sp, pc;
};

/* The text of /proc/PID/task/TID/syscall; false when it is no such text. */
bool thread_call_parse(const char *text, struct thread_call *out);

/* What else has to hold of a thread that is blocked in this call. */
enum safe_point_condition {
	SAFE_POINT_ALWAYS,
	SAFE_POINT_FRESH,  /* only just begun: it cannot be taken up again with the rest of its time-out */
	SAFE_POINT_SOCKET, /* its descriptor is no socket, or one without a time-out */
};

struct safe_point {
	unsigned rank; /* 0: never; else the higher the better */
	enum safe_point_condition condition;
};

/* Judges the call alone. */
struct safe_point safe_point_of_call(const struct thread_call *call);

/* What /proc/PID/task/TID/status says. */
struct thread_status {
	char state;
	uint64_t pending, blocked; /* signals: of the thread and of the process; bit 0 is signal 1 */
	uint64_t caught;
	uint64_t switches; /* voluntary context switches: how often it has begun to wait */
	pid_t ns_tid;	   /* in its own pid namespace */
	pid_t tracer;
	int seccomp;	   /* 0 off, 1 strict, 2 filter */
	bool shadow_stack; /* a return that was not preceded by a call would kill it */
};

bool thread_status_parse(const char *text, struct thread_status *out);
int thread_status_read(pid_t pid, pid_t tid, struct thread_status *out);

struct safe_thread {
	pid_t tid;
	uint64_t descriptor; /* inject_stack.h */
	struct thread_call call;
	struct thread_status status;
};

#define SAFE_CODES_MAX 32

/* A file with code, and what was found in it. */
struct safe_code {
	dev_t device;
	uint64_t inode;
	bool safe;
};

struct safe_codes {
	struct safe_code list[SAFE_CODES_MAX];
	unsigned count;
};

/* What of the process the choice needs. */
struct safe_point_place {
	pid_t pid;
	const struct mappings *mappings;
	struct safe_codes *codes; /* learned so far; NULL: a running thread is never safe */
	uint64_t restorer;	  /* return address of signal handlers in its libc */
	uint64_t fork, fork_end;  /* the function's code; 0 not known */
};

/*
 * The best thread now, not stopped.  -EAGAIN with a reason when there is none at this moment; takes up to 20 ms.
 */
int safe_point_choose(const struct safe_point_place *place, struct safe_thread *out, const char **why);

/*
 * For a process that never waits: a thread that runs, with call.number SYSCALL_RUNNING.  Where it is can only be
 * seen once it is stopped, by safe_point_of_stop.
 */
int safe_point_choose_running(const struct safe_point_place *place, struct safe_thread *out);

/* Whether a thread that was stopped outside of system calls may be borrowed there. */
bool safe_point_of_stop(const struct safe_point_place *place, struct safe_thread *thread, uint64_t pc, uint64_t sp,
			uint64_t fs_base);

/*
 * Looks into the file whose code is at pc, while nothing is stopped: code is not safe before that. Where there is
 * an allocator in it, it never is.
 */
void safe_point_learn(const struct safe_point_place *place, uint64_t pc);

/* Whether what was learned of the code at pc is that it is safe. */
bool safe_point_code_is_safe(const struct safe_point_place *place, uint64_t pc);

/*
 * A call that only sleeps, made by a library with an allocator: some wait for their lock so.  What called it stands
 * next on the stack.
 */
bool safe_point_sleeps_in_allocator(const struct safe_point_place *place, const struct thread_call *call);

/* Whether the address lies in the named libraries' or the loader's data: locks there are theirs. */
bool safe_point_in_runtime(const struct mappings *mappings, uint64_t address);

#endif
