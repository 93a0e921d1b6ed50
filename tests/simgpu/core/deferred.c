/*
 * deferred.c: what cannot be placed yet. When a kernel that waits for other processes ends is not known
 * before they have come. Until then what follows in its stream, and what waits for that, is deferred: a
 * list for each stream. A thread places it as soon as it can, with the times that it would have got at
 * once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "placing.h"

#define NAP_NS 50000

static pthread_cond_t is_deferred = PTHREAD_COND_INITIALIZER;
static CUstream listed; /* streams that had deferred work */
static uint64_t last_number;
static bool has_thread;

void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

uint64_t next_number_locked(void)
{
	return last_number + 1;
}

void release(struct sim_recording *recording)
{
	if (recording && !--recording->references)
		free(recording);
}

void publish(const struct sim_work *work, int tid, const char *label)
{
	const struct sim_tool *tool = sim_tool();
	enum sim_fate fate = tool ? tool->work(work) : SIM_UNSEEN;

	if (sim_truth_on())
		sim_truth_work(work, fate, tid, label);
	if (work->meeting)
		work->meeting->placed(work->execution, work);
}

bool is_first_locked(CUstream stream, uint64_t number)
{
	CUcontext context = stream->context;

	if (stream->first && stream->first->number < number)
		return false;
	if (is_blocking(stream))
		return !context->legacy->first || context->legacy->first->number > number;
	if (stream != context->legacy)
		return true;
	for (CUstream other = listed; other; other = other->next_listed)
		if (other->context == context && is_blocking(other) && other->first && other->first->number < number)
			return false;
	return true;
}

static bool work_is_placed_locked(CUstream stream, struct sim_deferred *head)
{
	struct sim_work *work = &head->work;

	if (!work->meeting) {
		place_locked(stream, work);
		return true;
	}
	if (!head->has_begun) {
		work->start = start_locked(stream, work->submitted);
		work->meeting->begin(work->execution, work->start);
		head->has_begun = true;
	}
	if (!work->meeting->end(work->execution, &work->end))
		return false;
	end_locked(stream, work);
	return true;
}

/* Does what the head of the stream's list is about; false: it cannot be done yet. */
static bool do_locked(CUstream stream, struct sim_deferred *head)
{
	if (!is_first_locked(stream, head->number))
		return false;
	switch (head->kind) {
	case DEFERRED_WORK:
		if (!work_is_placed_locked(stream, head))
			return false;
		stream->deferred--;
		return true;
	case DEFERRED_RECORD:
		head->recording->time = later(end_of_locked(stream), head->submitted);
		head->recording->is_known = true;
		break;
	case DEFERRED_WAIT:
		if (!head->recording->is_known)
			return false;
		stream->last_end = later(stream->last_end, head->recording->time);
		break;
	}
	release(head->recording);
	return true;
}

struct sim_deferred *advance_locked(void)
{
	struct sim_deferred *done = NULL, **end = &done;
	bool has_moved = true;

	while (has_moved) {
		has_moved = false;
		for (CUstream stream = listed; stream; stream = stream->next_listed)
			while (stream->first && do_locked(stream, stream->first)) {
				*end = stream->first;
				stream->first = stream->first->next;
				stream->last = stream->first ? stream->last : NULL;
				(*end)->next = NULL;
				end = &(*end)->next;
				has_moved = true;
			}
	}
	return done;
}

void publish_all(struct sim_deferred *done)
{
	while (done) {
		struct sim_deferred *next = done->next;

		if (done->kind == DEFERRED_WORK)
			publish(&done->work, done->tid, done->label);
		free(done);
		done = next;
	}
}

static bool has_deferred_locked(void)
{
	for (CUstream stream = listed; stream; stream = stream->next_listed)
		if (stream->first)
			return true;
	return false;
}

static void *place_deferred(void *unused)
{
	(void)unused;
	for (;;) {
		struct sim_deferred *done;

		pthread_mutex_lock(&placing_lock);
		while (!has_deferred_locked())
			pthread_cond_wait(&is_deferred, &placing_lock);
		done = advance_locked();
		pthread_mutex_unlock(&placing_lock);
		publish_all(done);
		nap();
	}
	return NULL;
}

/* A forked child has no such thread.  What is deferred at the fork is the parent's. */
static void forked(void)
{
	pthread_mutex_init(&placing_lock, NULL);
	pthread_cond_init(&is_deferred, NULL);
	for (CUstream stream = listed; stream; stream = stream->next_listed) {
		stream->first = stream->last = NULL;
		stream->deferred = 0;
	}
	has_thread = false;
}

static void start_thread_locked(void)
{
	static bool is_watching;
	sigset_t all, before;
	pthread_t thread;

	if (has_thread)
		return;
	if (!is_watching)
		pthread_atfork(NULL, NULL, forked);
	is_watching = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	has_thread = !pthread_create(&thread, NULL, place_deferred, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!has_thread)
		abort();
	pthread_detach(thread);
}

void defer_locked(CUstream stream, const struct sim_deferred *what)
{
	struct sim_deferred *deferred = malloc(sizeof(*deferred));

	if (!deferred)
		abort();
	*deferred = *what;
	deferred->number = ++last_number;
	deferred->tid = sim_thread()->tid;
	strcpy(deferred->label, sim_thread()->label);
	if (stream->last)
		stream->last->next = deferred;
	else
		stream->first = deferred;
	stream->last = deferred;
	stream->deferred += deferred->kind == DEFERRED_WORK;
	if (!stream->is_listed) {
		stream->is_listed = true;
		stream->next_listed = listed;
		listed = stream;
	}
	start_thread_locked();
	pthread_cond_signal(&is_deferred);
}

bool is_pending(CUcontext context, CUstream stream, uint64_t number)
{
	bool pending = false;

	pthread_mutex_lock(&placing_lock);
	if (stream)
		pending = !is_first_locked(stream, number);
	else
		for (CUstream other = listed; other; other = other->next_listed)
			pending |= other->context == context && other->first && other->first->number < number;
	pthread_mutex_unlock(&placing_lock);
	return pending;
}

void wait_for_deferred(CUcontext context, CUstream stream)
{
	uint64_t number;

	pthread_mutex_lock(&placing_lock);
	number = last_number + 1;
	pthread_mutex_unlock(&placing_lock);
	while (is_pending(context, stream, number))
		nap();
}
