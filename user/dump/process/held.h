/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks of Python: which object a thread waits for, and which thread holds it.  A threading.RLock names its owner.  A
 * threading.Lock does not: its holder is a frame inside of `with lock`, which has the lock's __exit__ on its stack.
 */
#pragma once

#include "dump/process/python.h"

#define NO_THREAD UINT32_MAX

/* A value that a frame certainly keeps, which may be a lock or a bound method of one. */
struct held_value {
	unsigned thread, frame; /* indices */
	uint64_t object;
	uint32_t next; /* index of the next one whose address is the same; UINT32_MAX: none */
};

struct held_values {
	ARRAY(struct held_value) list;
	struct lookup places; /* index of the first value, by the address at which a thread would wait for it */
	bool read;	      /* done once, for the first thread that waits for a lock */
};

struct python_lock {
	uint64_t object; /* 0: not found */
	bool reentrant;
	unsigned owner;	      /* index of the thread that holds it; NO_THREAD: not in this process, or not known */
	unsigned owner_frame; /* index of the holding frame in that thread's raw stack; NO_THREAD: not known */
	bool owner_gone;      /* its owner is a thread that has ended */
};

/* Finds the lock that the thread `index` waits for.  address: its futex, or its address in CPython's parking lot. */
void held_find(struct python_look *look, const struct dump_process *process, struct held_values *values, unsigned index,
	       uint64_t address, struct python_lock *out);

/* The address at which a thread has parked (Python/parking_lot.c, 3.13 and later), 0: it has not. */
uint64_t held_parked_at(const struct python_look *look, const struct dump_thread *thread, uint64_t futex);

/* The type of the lock of multiprocessing whose acquire() the thread `index` is in; NULL: it is in none. */
const char *held_semaphore(struct python_look *look, unsigned index, uint64_t futex);

/* The first local variable of a frame, 0: none. */
uint64_t held_first_local(const struct python_look *look, const struct raw_frame *frame);
