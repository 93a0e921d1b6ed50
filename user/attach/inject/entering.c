/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One detached thread for each injection; one lock protects what they share. */
#include "attach/inject/entering.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/stop.h"
#include "base/array.h"
#include "base/threads/thread.h"

#define STACK_BYTES (512u << 10) /* for paths, /proc texts and the borrowed thread's state: 60 KB are used */

#define FINISH_LOOKS 500 /* 1 ms each: twice the time that a call and a stop may take at the end */

struct entering {
	struct entering *next;
	pid_t pid;
	int agent_fd;			 /* owned */
	char *asked;			 /* NULL: none */
	struct entering_request request; /* without asked */
	/* Protected by the lock. */
	bool ended, forgotten;
	bool gone; /* the thread does not access it any more */
	int error;
	struct inject_result result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entering *all; /* those whose thread lives */
static unsigned count;

static void free_entering(struct entering *entering)
{
	if (entering->agent_fd >= 0)
		close(entering->agent_fd);
	free(entering->asked);
	free(entering);
}

static void unlink_locked(struct entering *entering)
{
	struct entering **at = &all;

	while (*at != entering)
		at = &(*at)->next;
	*at = entering->next;
	count--;
}

static int enter_process(const struct entering *entering, struct inject_result *result)
{
	const struct entering_request *request = &entering->request;
	bool brings = (request->driver || request->unless_driver) && inject_driver_brings(entering->pid);
	int error;

	if (request->driver && !brings)
		return -ENODATA;
	if (!brings)
		return inject_agent(entering->pid, request->start_ticks, entering->agent_fd, entering->asked, result);
	error = request->ops ? inject_observer(entering->pid, request->start_ticks, entering->agent_fd, result) : 0;
	return error ? error : -EALREADY;
}

static void *entering_main(void *context)
{
	struct entering *entering = context;
	struct inject_result result = {0};
	int error = enter_process(entering, &result);
	bool forgotten;

	pthread_mutex_lock(&lock);
	entering->result = result;
	entering->error = error;
	entering->ended = true;
	pthread_mutex_unlock(&lock);
	inject_wait_late_stop(entering->pid, &result);
	pthread_mutex_lock(&lock);
	unlink_locked(entering);
	entering->gone = true;
	forgotten = entering->forgotten;
	pthread_mutex_unlock(&lock);
	if (forgotten)
		free_entering(entering);
	return NULL;
}

/* Adds it to `all`; -EAGAIN if there is no room for it. */
static int take_place(struct entering *entering)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	if (count >= ENTERINGS_MAX)
		error = -EAGAIN;
	for (const struct entering *other = all; other && !error; other = other->next)
		if (other->pid == entering->pid)
			error = -EAGAIN;
	if (!error) {
		entering->next = all;
		all = entering;
		count++;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

int entering_begin(pid_t pid, int agent_fd, const struct entering_request *request, struct entering **out)
{
	struct entering *entering = xcalloc(1, sizeof(*entering));
	int error;

	entering->pid = pid;
	entering->request = *request;
	entering->request.asked = NULL;
	entering->asked = request->asked ? xstrdup(request->asked) : NULL;
	entering->agent_fd = fcntl(agent_fd, F_DUPFD_CLOEXEC, 0);
	error = entering->agent_fd < 0 ? -errno : take_place(entering);
	if (!error) {
		error = thread_start(entering_main, entering, STACK_BYTES, NULL);
		if (error) {
			pthread_mutex_lock(&lock);
			unlink_locked(entering);
			pthread_mutex_unlock(&lock);
		}
	}
	if (error) {
		free_entering(entering);
		return error;
	}
	*out = entering;
	return 0;
}

bool entering_ended(struct entering **entering, int *error, struct inject_result *result)
{
	bool ended;

	pthread_mutex_lock(&lock);
	ended = (*entering)->ended;
	if (ended) {
		*error = (*entering)->error;
		*result = (*entering)->result;
	}
	pthread_mutex_unlock(&lock);
	if (ended)
		entering_forget(entering);
	return ended;
}

/* The thread or the caller frees it, whichever is second. */
void entering_forget(struct entering **entering)
{
	bool gone;

	if (!*entering)
		return;
	pthread_mutex_lock(&lock);
	(*entering)->forgotten = true;
	gone = (*entering)->gone;
	pthread_mutex_unlock(&lock);
	if (gone)
		free_entering(*entering);
	*entering = NULL;
}

static bool any_in_process(void)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (const struct entering *entering = all; entering && !any; entering = entering->next)
		any = !entering->ended;
	pthread_mutex_unlock(&lock);
	return any;
}

void enterings_finish(void)
{
	struct timespec pause = {.tv_nsec = 1000000};

	stop_hurry();
	for (int i = 0; i < FINISH_LOOKS && any_in_process(); i++)
		nanosleep(&pause, NULL);
}
