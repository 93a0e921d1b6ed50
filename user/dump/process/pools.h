/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pools of threads (concurrent.futures, multiprocessing.pool): which thread computes the Future that a thread waits
 * for, and whether a pool waits for itself: each of its threads waits for what only a thread of such a pool can do.
 */
#pragma once

#include "dump/process/python.h"

struct pool {
	uint64_t queue;	  /* of its work items */
	const char *name; /* "ThreadPoolExecutor-0", NULL: not known */
	unsigned threads; /* that are seen */
	bool stuck;
};

struct pools {
	bool read; /* done once, for the first thread that waits for a Future */
	ARRAY(struct pool) list;
	uint32_t *of_thread;	/* index of the pool that the thread works for, NO_POOL: none */
	struct lookup places;	/* index of a pool, by the address of its queue */
	struct lookup queued;	/* index of the pool in whose queue a Future is, by the Future's address */
	struct lookup computed; /* index of the thread that computes a Future */
};

#define NO_POOL UINT32_MAX

/* What a thread waits for, if all of it is in pools. */
struct pool_wait {
	const struct pool *pool; /* in whose queue it is, or which computes it; NULL: not known */
	unsigned owner; /* the thread that computes it, else of a stuck pool one to wait for; UINT32_MAX: none */
	bool queued;
	bool own;    /* it is of the pool that the thread works for */
	bool future; /* else a result of multiprocessing.pool */
};

/* False: the thread waits for no Future and no result of a pool. */
bool pools_find(struct python_look *look, const struct dump_process *process, struct pools *pools, unsigned index,
		struct pool_wait *out);
