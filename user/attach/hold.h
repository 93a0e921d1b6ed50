/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds threads of processes that gputrace has started at the return of the mmap(2) that mapped a new library, until
 * its probes are in place. They are stopped by ptrace(2), which no parent sees. When gputrace dies the kernel lets them
 * continue.
 */
#ifndef GPUTRACE_ATTACH_HOLD_H
#define GPUTRACE_ATTACH_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct holder;

enum hold_state {
	HOLD_NONE,    /* no hold was requested */
	HOLD_ASKED,   /* it has not stopped yet */
	HOLD_IN_TIME, /* nothing of the library has run */
	HOLD_LATE,    /* it was stopped after that call: the library may have run */
	HOLD_REFUSED, /* the kernel does not allow the stop: another tracer has it */
	HOLD_OVER,    /* the thread has ended */
};

struct hold {
	pid_t pid, tid;
	uint64_t time_ns;    /* of the GPT_MAPPED that requests it: identifies the hold among those of the thread */
	char name[64];	     /* base name of the library */
	bool probed;	     /* the file is probed already: held only for its Python */
	uint64_t stopped_ns; /* when it was seen to have stopped; 0: not yet */
};

/* requests_map: hold_requests. Returns 0 or -errno. */
int holder_start(int requests_map, struct holder **out);

/* Returns the current state of the hold; waits at most patience_ns while it is HOLD_ASKED. */
enum hold_state holder_look(struct holder *holder, struct hold *hold, uint64_t patience_ns);

/* Lets the thread continue, at once or as soon as it has stopped. */
void holder_release(struct holder *holder, const struct hold *hold);

/* Lets all threads continue. `holder` may be NULL. */
void holder_stop(struct holder *holder);

#endif
