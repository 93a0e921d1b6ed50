/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Worker threads: one less than the processors, so that together with the caller each has a processor; at most
 * WORKERS_MAX.  They start when there is work, and stay.
 *
 *	workers_give(&work, run, context);
 *	...
 *	workers_wait(&work);		run has finished
 *
 * Work starts in the order in which it was given.  A thread that waits runs work that has not started: so a piece
 * may give work and wait for it, and all work is done even if no thread can be started.
 */
#pragma once

#include <stdbool.h>

#define WORKERS_MAX 3u

/* One piece of work; starts zeroed, and may be given again after workers_wait. */
struct work {
	void (*run)(void *context);
	void *context;
	bool given; /* and not waited for; owned by the caller */
	bool ended; /* this and `next`: under the lock */
	struct work *next;
};

/* Work and context must stay in place until workers_wait. */
void workers_give(struct work *work, void (*run)(void *context), void *context);

/* Returns at once if nothing was given. */
void workers_wait(struct work *work);

/* At most `threads` threads from now on, up to WORKERS_MAX; 0: the waiting thread does all work.  Threads that already
 * run stay. */
void workers_use(unsigned threads);

/* The most threads there can be. */
unsigned workers_count(void);
