/*
 * delivery.c: holds GPU work until its end has passed (plus SIMGPU_DELAY_MS). Then a worker writes
 * the records, newest first, so that no client can rely on their order.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "stand-in.h"

#define PERIOD_NS 2000000

struct pending {
	struct sim_work work;
	enum sim_fate fate;
	struct buffers_queue *queue; /* of the thread that submitted the work */
	struct pending *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t delivering = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static struct pending *pending; /* newest first */
static bool started;

void delivery_add(const struct sim_work *work, enum sim_fate fate, struct buffers_queue *queue)
{
	struct pending *entry = malloc(sizeof(*entry));

	if (!entry) {
		buffers_drop();
		return;
	}
	entry->work = *work;
	entry->fate = fate;
	entry->queue = queue;
	pthread_mutex_lock(&lock);
	entry->next = pending;
	pending = entry;
	if (!entry->next)
		pthread_cond_signal(&arrived);
	pthread_mutex_unlock(&lock);
}

/* Takes ended work out of the list, keeping the order; forced: takes all of it. */
static struct pending *take_ended(uint64_t now, bool forced)
{
	struct pending *taken = NULL, **end = &taken, **at = &pending;
	uint64_t delay = sim_options()->delay_ns;

	pthread_mutex_lock(&lock);
	while (*at) {
		struct pending *entry = *at;

		if (forced || entry->work.end + delay <= now) {
			*at = entry->next;
			*end = entry;
			end = &entry->next;
		} else {
			at = &entry->next;
		}
	}
	*end = NULL;
	pthread_mutex_unlock(&lock);
	return taken;
}

static void deliver_ended(bool forced)
{
	uint64_t now = sim_now();
	struct pending *list;

	pthread_mutex_lock(&delivering);
	list = take_ended(now, forced);
	while (list) {
		struct pending *entry = list;

		list = entry->next;
		if (entry->work.end > now)
			entry->fate = SIM_ZEROED; /* forced out before its end: no times */
		records_work(&entry->work, entry->fate, entry->queue);
		free(entry);
	}
	pthread_mutex_unlock(&delivering);
}

static void *worker_main(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!pending)
			pthread_cond_wait(&arrived, &lock);
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS}, NULL);
		deliver_ended(false);
		buffers_hand_over(false);
	}
	return NULL;
}

/* A forked child has no worker. Work pending at the fork is the parent's. */
static void forget_worker(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&delivering, NULL);
	pthread_cond_init(&arrived, NULL);
	pending = NULL;
	buffers_forked();
	if (started) {
		started = false;
		delivery_start();
	}
}

/*
 * The real library makes its threads in a client's first calls and keeps them until the process ends. They inherit name
 * and signal mask from the calling thread.
 */
void delivery_start(void)
{
	static bool watching;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (!started) {
		if (!watching)
			pthread_atfork(NULL, NULL, forget_worker);
		watching = true;
		started = pthread_create(&thread, NULL, worker_main, NULL) == 0;
		if (started)
			pthread_detach(thread);
	}
	pthread_mutex_unlock(&lock);
}

void delivery_flush(bool forced)
{
	deliver_ended(forced);
	buffers_hand_over(true);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	delivery_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}
