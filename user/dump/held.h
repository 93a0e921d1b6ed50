/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks of Python: which object a thread waits at, and which thread holds it.  A threading.RLock names its owner.  A
 * threading.Lock does not: it is held where a frame is inside of `with lock`, whose exit waits on the frame's stack.
 */
#ifndef GPUTRACE_DUMP_HELD_H
#define GPUTRACE_DUMP_HELD_H

#include "dump/python.h"

#define NO_THREAD UINT32_MAX

/* A value that a frame certainly keeps. */
struct held_value {
	unsigned thread, frame; /* indices */
	uint64_t value, self;	/* self: of a bound method */
};

struct held_values {
	ARRAY(struct held_value) list;
	bool read; /* once, when the first thread waits for a lock */
};

struct python_lock {
	uint64_t object; /* 0: not found */
	bool reentrant;
	unsigned owner;	      /* index of a thread; NO_THREAD: none of the process, or not known */
	unsigned owner_frame; /* in its raw stack, which holds it; NO_THREAD: not known */
	bool owner_gone;      /* a thread that there is no more owns it */
};

/* The lock whose futex, or whose address where it waits in CPython's parking lot, is `address`. */
void held_find(struct python_look *look, const struct dump_process *process, struct held_values *values, unsigned index,
	       uint64_t address, struct python_lock *out);

/* The address that a thread has parked at (Python/parking_lot.c, 3.13 and later), 0: it has not. */
uint64_t held_parked_at(const struct python_look *look, const struct dump_thread *thread, uint64_t futex);

/* The first local variable of a frame, 0: none. */
uint64_t held_first_local(const struct python_look *look, const struct raw_frame *frame);

#endif
