/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads of processes that gputrace has started stand still at the return of the mmap(2) that brought them a new
 * library, until its probes are in place.  They are stopped by ptrace(2), which no parent sees.  When gputrace dies
 * the kernel lets them go on.
 */
#ifndef GPUTRACE_ATTACH_HOLD_H
#define GPUTRACE_ATTACH_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct holder;

enum hold_state {
	HOLD_NONE,    /* it was not to be held */
	HOLD_ASKED,   /* it has not stopped yet */
	HOLD_IN_TIME, /* nothing of the library has run */
	HOLD_LATE,    /* it was stopped after that call: the library may have run */
	HOLD_REFUSED, /* the kernel does not let it be stopped: another tracer has it */
	HOLD_OVER,    /* it has ended */
};

struct hold {
	pid_t pid, tid;
	uint64_t time_ns;    /* of the GPT_MAPPED that asks for it: which hold of the thread it is */
	char name[64];	     /* of the library, without its folder */
	bool probed;	     /* it is held for its Python alone */
	uint64_t stopped_ns; /* when it was seen to have stopped; 0: it has not */
};

/* The map is hold_requests. -errno */
int holder_start(int requests_map, struct holder **out);

/* What has become of it by now, waiting at most that long while it is HOLD_ASKED. */
enum hold_state holder_look(struct holder *holder, struct hold *hold, uint64_t patience_ns);

/* It goes on, at once or as soon as it has stopped. */
void holder_release(struct holder *holder, const struct hold *hold);

/* All go on. NULL is fine. */
void holder_stop(struct holder *holder);

#endif
