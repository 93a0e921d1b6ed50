/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work on a thread of its own while the caller goes on, one piece after the other.
 *
 *	beside_run(&beside, work, context);
 *	...
 *	beside_wait(&beside);		what the work has done is there
 */
#ifndef GPUTRACE_BESIDE_H
#define GPUTRACE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

/* Starts zeroed; one thread's, as all its functions. */
struct beside {
	void (*work)(void *context);
	void *context;
	pthread_t thread;
	bool runs;
};

/* Waits for the piece before.  Where no thread can be had the work is done before this returns. */
void beside_run(struct beside *beside, void (*work)(void *context), void *context);
void beside_wait(struct beside *beside);

#endif
