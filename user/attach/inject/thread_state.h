/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What /proc says about one thread: its current system call, its signals, its tracer. Nothing is stopped for it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SYSCALL_RUNNING (-2)  /* on a CPU, or waiting for one */
#define SYSCALL_NONE (-1)     /* blocked, but not in a system call (a page fault) */
#define SYSCALL_RESTARTED 219 /* restart_syscall: a call with a time-out that was interrupted before */

struct thread_call {
	long number; /* or one of the values above */
	uint64_t args[6];
	uint64_t sp, pc;
};

/* Parses the text of /proc/PID/task/TID/syscall; false if it is malformed. */
bool thread_call_parse(const char *text, struct thread_call *out);
int thread_call_read(pid_t pid, pid_t tid, struct thread_call *out);

/* The contents of /proc/PID/task/TID/status. */
struct thread_status {
	char state;
	uint64_t pending, blocked; /* signals of the thread and of the process; bit 0 is signal 1 */
	uint64_t caught;
	uint64_t switches; /* voluntary context switches: how often it has started to wait */
	pid_t ns_tid;	   /* in its own pid namespace */
	pid_t tracer;
	int seccomp;	   /* 0 off, 1 strict, 2 filter */
	int filters;	   /* number of its seccomp filters; 0: none, or not known (before Linux 5.9) */
	bool no_new_privs; /* without it only a process with CAP_SYS_ADMIN can add a filter: seccomp(2) */
	uint64_t bounding; /* capabilities that it can ever have */
	bool shadow_stack; /* a return without a preceding call would kill it */
};

bool thread_status_parse(const char *text, struct thread_status *out);
int thread_status_read(pid_t pid, pid_t tid, struct thread_status *out);
