/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What gputrace and the process that stops threads for it share: the memory is mapped by both. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/stopper.h"

#define STOPPED_MOST 8192u /* threads that are stopped at a time; others are not stopped */

struct stopped_thread {
	pid_t pid, tid;
	uint64_t time_ns, stopped_ns; /* as in struct stop */
	uint64_t offset;
	uint32_t fd;
	int cpu; /* whose thread has stopped it: ptrace is between threads */
	enum stop_state state;
	int status; /* of the stop, from waitpid */
	bool released;
};

struct stopper_cpu {
	struct stopper *stopper;
	int cpu;
	size_t buffer; /* its index in the perf buffer */
	int wake;      /* an eventfd */
	pthread_t thread;
	bool started;
};

enum stopper_life {
	STOPPER_STARTING,
	STOPPER_READY,
	STOPPER_FAILED,
};

struct stopper {
	pid_t owner, process;
	pthread_mutex_t lock; /* protects the members up to `list` */
	pthread_cond_t changed;
	enum stopper_life life;
	int error; /* why it has failed */
	bool finish;
	size_t stopped_count;
	struct stopped_thread list[STOPPED_MOST];
	_Atomic uint32_t places; /* of the list, in use or about to be */
	size_t bytes;		 /* of all of this */
	size_t cpu_count;
	struct stopper_cpu cpus[];
};

/* Takes the lock also if the other process has died with it. */
void stopper_lock(struct stopper *stopper);
void stopper_unlock(struct stopper *stopper);

/* The process: stops what requests_map asks for, until `finish`. */
void __attribute__((noreturn)) stopper_serve(struct stopper *stopper, int requests_map);
