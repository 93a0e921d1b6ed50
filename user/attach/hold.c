/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first thread's side: it starts the process that stops threads (hold_process.h), and asks it. */
#include "attach/hold.h"

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

#include "attach/hold_process.h"
#include "attach/inject/inject.h"
#include "base/array.h"
#include "base/monotonic.h"

#define SECOND_NS 1000000000ull
#define LIFE_LOOK_NS 50000000ull /* between two looks whether the process lives while it starts */

static void wake_all(struct holder *holder)
{
	uint64_t one = 1;

	for (size_t i = 0; i < holder->cpu_count; i++)
		(void)!write(holder->cpus[i].wake, &one, sizeof(one));
}

/*
 * Priority inheritance: a target waits for the holder's thread, which waits for the lock, so the lock's owner must run
 * with that priority.
 */
static void init_lock(struct holder *holder)
{
	pthread_mutexattr_t attributes;
	pthread_condattr_t clock;

	pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&holder->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_condattr_setpshared(&clock, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&holder->changed, &clock);
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

static int add_cpu(struct holder *holder, int cpu)
{
	struct holder_cpu *one = &holder->cpus[holder->cpu_count];

	*one = (struct holder_cpu){.holder = holder, .cpu = cpu, .buffer = holder->cpu_count};
	one->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (one->wake < 0)
		return -errno;
	holder->cpu_count++;
	return 0;
}

static int wait_changed(struct holder *holder, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SECOND_NS),
				       .tv_nsec = (long)(until_ns % SECOND_NS)};
	int error = pthread_cond_timedwait(&holder->changed, &holder->lock, &until);

	if (error == EOWNERDEAD)
		error = pthread_mutex_consistent(&holder->lock);
	return error;
}

static bool has_ended(struct holder *holder)
{
	if (waitpid(holder->process, NULL, WNOHANG) == 0)
		return false;
	holder->process = 0;
	inject_know_holder(0);
	return true;
}

static int wait_started(struct holder *holder)
{
	int error = 0;

	holder_lock(holder);
	while (holder->life == HOLDER_STARTING && !error)
		if (wait_changed(holder, monotonic_ns() + LIFE_LOOK_NS) && has_ended(holder))
			error = -ECHILD;
	if (holder->life == HOLDER_FAILED)
		error = holder->error;
	holder_unlock(holder);
	return error;
}

/* fork(): its child uses malloc and threads, so no lock of the C library may stay held there. */
static int start_process(struct holder *holder, int requests_map)
{
	holder->owner = getpid();
	holder->process = fork();
	if (!holder->process)
		holder_serve(holder, requests_map);
	if (holder->process < 0) {
		holder->process = 0;
		return -errno;
	}
	inject_know_holder(holder->process);
	return wait_started(holder);
}

int holder_start(int requests_map, struct holder **out)
{
	struct holder *holder;
	int *cpus = NULL, error = 0;
	ssize_t count = find_cpus(&cpus);
	size_t bytes;

	if (!cpus)
		return (int)count;
	bytes = sizeof(*holder) + (size_t)count * sizeof(holder->cpus[0]);
	holder = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (holder == MAP_FAILED) {
		free(cpus);
		return -ENOMEM;
	}
	holder->bytes = bytes;
	init_lock(holder);
	for (ssize_t i = 0; i < count && !error; i++)
		error = add_cpu(holder, cpus[i]);
	free(cpus);
	if (!error)
		error = start_process(holder, requests_map);
	if (error)
		holder_stop(holder);
	else
		*out = holder;
	return error;
}

static struct held *find(struct holder *holder, const struct hold *hold)
{
	for (size_t i = 0; i < holder->held_count; i++)
		if (holder->list[i].tid == hold->tid && holder->list[i].time_ns == hold->time_ns)
			return &holder->list[i];
	return NULL;
}

enum hold_state holder_look(struct holder *holder, struct hold *hold, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic_ns() + patience_ns;
	enum hold_state state = HOLD_ASKED;
	struct held *held;
	int error = 0;

	holder_lock(holder);
	for (;;) {
		held = find(holder, hold);
		if (held) {
			state = held->state;
			hold->stopped_ns = held->stopped_ns;
		}
		if (state != HOLD_ASKED || error || !patience_ns)
			break;
		error = wait_changed(holder, until_ns);
	}
	holder_unlock(holder);
	return state;
}

void holder_release(struct holder *holder, const struct hold *hold)
{
	struct held *held;

	holder_lock(holder);
	held = find(holder, hold);
	if (held)
		held->released = true;
	holder_unlock(holder);
	wake_all(holder);
}

void holder_stop(struct holder *holder)
{
	if (!holder)
		return;
	holder_lock(holder);
	holder->finish = true;
	for (size_t i = 0; i < holder->held_count; i++)
		holder->list[i].released = true;
	holder_unlock(holder);
	wake_all(holder);
	if (holder->process) {
		kill(holder->process, SIGTERM);
		while (waitpid(holder->process, NULL, 0) < 0 && errno == EINTR)
			;
		inject_know_holder(0);
	}
	for (size_t i = 0; i < holder->cpu_count; i++)
		close(holder->cpus[i].wake);
	munmap(holder, holder->bytes);
}
