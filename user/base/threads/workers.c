/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue under a lock: pieces are some milliseconds long. */
#include "base/threads/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "base/threads/thread.h"

static struct {
	pthread_mutex_t lock; /* guards all of this, and `ended` and `next` of each piece */
	pthread_cond_t given, ended;
	struct work *first, **last; /* the queue of pieces that have not started */
	unsigned most;		    /* the most threads, plus one; 0: not known yet */
	unsigned threads, idle, queued;
} workers = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.given = PTHREAD_COND_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
	.last = &workers.first,
};

/* Under the lock. */
static unsigned most_workers(void)
{
	cpu_set_t set;

	if (!workers.most) {
		workers.most = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
		if (workers.most > WORKERS_MAX + 1)
			workers.most = WORKERS_MAX + 1;
	}
	return workers.most - 1;
}

/* Under the lock, which is released while the piece runs. */
static void do_first(void)
{
	struct work *work = workers.first;

	workers.first = work->next;
	if (!workers.first)
		workers.last = &workers.first;
	workers.queued--;
	pthread_mutex_unlock(&workers.lock);
	work->run(work->context);
	pthread_mutex_lock(&workers.lock);
	work->ended = true;
	pthread_cond_broadcast(&workers.ended);
}

static void *work_on(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&workers.lock);
	for (;;) {
		while (workers.first)
			do_first();
		workers.idle++;
		pthread_cond_wait(&workers.given, &workers.lock);
		workers.idle--;
	}
	return NULL;
}

void workers_give(struct work *work, void (*run)(void *context), void *context)
{
	bool start;

	workers_wait(work);
	work->run = run;
	work->context = context;
	work->next = NULL;
	work->ended = false;
	work->given = true;
	pthread_mutex_lock(&workers.lock);
	*workers.last = work;
	workers.last = &work->next;
	workers.queued++;
	start = workers.queued > workers.idle && workers.threads < most_workers();
	workers.threads += start;
	pthread_cond_signal(&workers.given);
	pthread_mutex_unlock(&workers.lock);
	if (start && thread_start(work_on, NULL, 0, NULL)) {
		pthread_mutex_lock(&workers.lock);
		workers.threads--;
		pthread_mutex_unlock(&workers.lock);
	}
}

void workers_wait(struct work *work)
{
	if (!work->given)
		return;
	pthread_mutex_lock(&workers.lock);
	while (!work->ended)
		if (workers.first)
			do_first();
		else
			pthread_cond_wait(&workers.ended, &workers.lock);
	pthread_mutex_unlock(&workers.lock);
	work->given = false;
}

void workers_use(unsigned threads)
{
	pthread_mutex_lock(&workers.lock);
	workers.most = 1 + (threads < WORKERS_MAX ? threads : WORKERS_MAX);
	pthread_mutex_unlock(&workers.lock);
}

unsigned workers_count(void)
{
	unsigned count;

	pthread_mutex_lock(&workers.lock);
	count = most_workers();
	pthread_mutex_unlock(&workers.lock);
	return count;
}
