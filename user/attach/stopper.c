/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first thread's side: it starts the process that stops threads (stopper_process.h), and asks it. */
#include "attach/stopper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/stopper_process.h"
#include "attach/inject/inject.h"
#include "base/array.h"
#include "base/monotonic.h"

#define SECOND_NS 1000000000ull
#define LIFE_CHECK_NS 50000000ull /* between two checks whether the process lives while it starts */

static void wake_all(struct stopper *stopper)
{
	uint64_t one = 1;

	for (size_t i = 0; i < stopper->cpu_count; i++)
		(void)!write(stopper->cpus[i].wake, &one, sizeof(one));
}

/*
 * Priority inheritance: a target waits for the stopper's thread, which waits for the lock, so the lock's owner must run
 * with that priority.
 */
static void init_lock(struct stopper *stopper)
{
	pthread_mutexattr_t attributes;
	pthread_condattr_t clock;

	pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&stopper->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_condattr_setpshared(&clock, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&stopper->changed, &clock);
	pthread_condattr_destroy(&clock);
}

/* "0-3,5"; the caller frees *out. Returns how many, or -errno. */
static ssize_t find_cpus(int **out)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	ARRAY(int) cpus = {};
	int first, last;

	if (!file)
		return -errno;
	while (fscanf(file, "%d", &first) == 1) {
		if (fscanf(file, "-%d", &last) != 1)
			last = first;
		for (; first <= last; first++)
			array_push(&cpus, first);
		(void)fgetc(file); /* the comma */
	}
	fclose(file);
	*out = cpus.items; /* NULL: none */
	return cpus.count ? (ssize_t)cpus.count : -ENOENT;
}

static int add_cpu(struct stopper *stopper, int cpu)
{
	struct stopper_cpu *one = &stopper->cpus[stopper->cpu_count];

	*one = (struct stopper_cpu){.stopper = stopper, .cpu = cpu, .buffer = stopper->cpu_count};
	one->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (one->wake < 0)
		return -errno;
	stopper->cpu_count++;
	return 0;
}

static int wait_changed(struct stopper *stopper, uint64_t until_ns)
{
	const struct timespec until = timespec_of(until_ns);
	int error = pthread_cond_timedwait(&stopper->changed, &stopper->lock, &until);

	if (error == EOWNERDEAD)
		error = pthread_mutex_consistent(&stopper->lock);
	return error;
}

static bool has_ended(struct stopper *stopper)
{
	if (waitpid(stopper->process, NULL, WNOHANG) == 0)
		return false;
	stopper->process = 0;
	inject_know_stopper(0);
	return true;
}

static int wait_started(struct stopper *stopper)
{
	int error = 0;

	stopper_lock(stopper);
	while (stopper->life == STOPPER_STARTING && !error)
		if (wait_changed(stopper, monotonic_ns() + LIFE_CHECK_NS) && has_ended(stopper))
			error = -ECHILD;
	if (stopper->life == STOPPER_FAILED)
		error = stopper->error;
	stopper_unlock(stopper);
	return error;
}

/* fork(): its child uses malloc and threads, so no lock of the C library may stay taken there. */
static int start_process(struct stopper *stopper, int requests_map)
{
	pid_t process;

	stopper->owner = getpid();
	process = fork();
	if (!process)
		stopper_serve(stopper, requests_map);
	if (process < 0)
		return -errno;
	stopper->process = process; /* the memory is shared: only gputrace writes that */
	inject_know_stopper(process);
	return wait_started(stopper);
}

int stopper_start(int requests_map, struct stopper **out)
{
	struct stopper *stopper;
	int *cpus = NULL, error = 0;
	ssize_t count = find_cpus(&cpus);
	size_t bytes;

	if (!cpus)
		return (int)count;
	bytes = sizeof(*stopper) + (size_t)count * sizeof(stopper->cpus[0]);
	stopper = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stopper == MAP_FAILED) {
		free(cpus);
		return -ENOMEM;
	}
	stopper->bytes = bytes;
	init_lock(stopper);
	for (ssize_t i = 0; i < count && !error; i++)
		error = add_cpu(stopper, cpus[i]);
	free(cpus);
	if (!error)
		error = start_process(stopper, requests_map);
	if (error)
		stopper_end(stopper);
	else
		*out = stopper;
	return error;
}

static struct stopped_thread *find_stopped(struct stopper *stopper, const struct stop *stop)
{
	return find_item(stopper->list, stopper->stopped_count, item,
			 item->tid == stop->tid && item->time_ns == stop->time_ns);
}

enum stop_state stopper_check(struct stopper *stopper, struct stop *stop, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic_ns() + patience_ns;
	enum stop_state state = STOP_ASKED;
	struct stopped_thread *stopped_thread;
	int error = 0;

	stopper_lock(stopper);
	for (;;) {
		stopped_thread = find_stopped(stopper, stop);
		if (stopped_thread) {
			state = stopped_thread->state;
			stop->stopped_ns = stopped_thread->stopped_ns;
		}
		if (state != STOP_ASKED || error || !patience_ns)
			break;
		error = wait_changed(stopper, until_ns);
	}
	stopper_unlock(stopper);
	return state;
}

void stopper_release(struct stopper *stopper, const struct stop *stop)
{
	struct stopped_thread *stopped_thread;

	stopper_lock(stopper);
	stopped_thread = find_stopped(stopper, stop);
	if (stopped_thread)
		stopped_thread->released = true;
	stopper_unlock(stopper);
	wake_all(stopper);
}

void stopper_end(struct stopper *stopper)
{
	if (!stopper)
		return;
	stopper_lock(stopper);
	stopper->finish = true;
	for (size_t i = 0; i < stopper->stopped_count; i++)
		stopper->list[i].released = true;
	stopper_unlock(stopper);
	wake_all(stopper);
	if (stopper->process) {
		kill(stopper->process, SIGTERM);
		while (waitpid(stopper->process, NULL, 0) < 0 && errno == EINTR)
			;
		inject_know_stopper(0);
	}
	for (size_t i = 0; i < stopper->cpu_count; i++)
		close(stopper->cpus[i].wake);
	munmap(stopper, stopper->bytes);
}
