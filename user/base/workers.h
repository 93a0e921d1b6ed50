/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads of the program that take work from others: one less than there are processors, so that with the one that
 * gives it no one shares a processor.  They start as there is work for them, and stay.
 *
 *	workers_give(&work, run, context);
 *	...
 *	workers_wait(&work);		what run has done is there
 *
 * Work is begun in the order in which it was given.  The thread that waits does pieces that have not begun: so a piece
 * may give work and wait for it, and all gets done where no thread can be had.
 */
#ifndef GPUTRACE_WORKERS_H
#define GPUTRACE_WORKERS_H

#include <stdbool.h>

#define WORKERS_MAX 3u

/* One piece; starts zeroed, and may be given again when it has been waited for. */
struct work {
	void (*run)(void *context);
	void *context;
	bool given; /* and not waited for: of who gives it */
	bool ended; /* these under the lock */
	struct work *next;
};

/* Work and context stay where they are until it has been waited for. */
void workers_give(struct work *work, void (*run)(void *context), void *context);

/* At once if nothing was given. */
void workers_wait(struct work *work);

/* At most `threads` threads from now on, up to WORKERS_MAX; 0: who waits does it all.  Threads that run already stay.
 */
void workers_use(unsigned threads);

/* How many there are at most. */
unsigned workers_count(void);

#endif
