/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What gputrace and the process that stops threads for it share: the memory is mapped by both. */
#ifndef GPUTRACE_ATTACH_HOLD_PROCESS_H
#define GPUTRACE_ATTACH_HOLD_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/hold.h"

#define HELD_MOST 8192u /* threads that are held at a time; others are not stopped */

struct held {
	pid_t pid, tid;
	uint64_t time_ns, stopped_ns; /* as in struct hold */
	uint64_t offset;
	uint32_t fd;
	int cpu; /* whose thread has stopped it: ptrace is between threads */
	enum hold_state state;
	int status; /* of the stop, from waitpid */
	bool released;
};

struct holder_cpu {
	struct holder *holder;
	int cpu;
	size_t buffer; /* its index in the perf buffer */
	int wake;      /* an eventfd */
	pthread_t thread;
	bool started;
};

enum holder_life {
	HOLDER_STARTING,
	HOLDER_READY,
	HOLDER_FAILED,
};

struct holder {
	pid_t owner, process;
	pthread_mutex_t lock; /* protects the members up to `list` */
	pthread_cond_t changed;
	enum holder_life life;
	int error; /* why it has failed */
	bool finish;
	size_t held_count;
	struct held list[HELD_MOST];
	_Atomic uint32_t places; /* of the list, in use or about to be */
	size_t bytes;		 /* of all of this */
	size_t cpu_count;
	struct holder_cpu cpus[];
};

/* Takes the lock also if the other process has died with it. */
void holder_lock(struct holder *holder);
void holder_unlock(struct holder *holder);

/* The process: stops what requests_map asks for, until `finish`. */
void __attribute__((noreturn)) holder_serve(struct holder *holder, int requests_map);

#endif
