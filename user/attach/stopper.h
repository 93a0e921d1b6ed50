/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stops threads of processes that gputrace has started at the return of the mmap(2) that mapped a new library, until
 * its probes are in place. They are stopped by ptrace(2), which no parent sees. When gputrace dies the kernel lets them
 * continue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stopper;

enum stop_state {
	STOP_NONE,    /* no stop was requested */
	STOP_ASKED,   /* it has not stopped yet */
	STOP_IN_TIME, /* nothing of the library has run */
	STOP_LATE,    /* it was stopped after that call: the library may have run */
	STOP_REFUSED, /* the kernel does not allow the stop: another tracer has it */
	STOP_OVER,    /* the thread has ended */
};

struct stop {
	pid_t pid, tid;
	uint64_t time_ns;    /* of the GPT_MAPPED that requests it: identifies the stop among those of the thread */
	char name[64];	     /* base name of the library */
	bool probed;	     /* the file is probed already: stopped only for its Python */
	uint64_t stopped_ns; /* when it was seen to have stopped; 0: not yet */
};

/* requests_map: stop_requests. Returns 0 or -errno. */
int stopper_start(int requests_map, struct stopper **out);

/* Returns the current state of the stop; waits at most patience_ns while it is STOP_ASKED. */
enum stop_state stopper_check(struct stopper *stopper, struct stop *stop, uint64_t patience_ns);

/* Lets the thread continue, at once or as soon as it has stopped. */
void stopper_release(struct stopper *stopper, const struct stop *stop);

/* Lets all threads continue. `stopper` may be NULL. */
void stopper_end(struct stopper *stopper);
