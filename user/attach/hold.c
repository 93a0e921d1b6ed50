/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One thread per CPU takes the BPF side's requests there: it stops the target's thread, looks at it and lets it go. The
 * first thread of gputrace asks these threads. The per-CPU thread is woken in the middle of the target's system call
 * and has a higher priority: it runs before the target is back.
 */
#include "attach/hold.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <gputrace/maps.h>

#include "attach/inject/stop.h"
#include "base/array.h"
#include "base/monotonic.h"
#include "base/thread.h"
#include "target/process.h"

#define STACK_BYTES (256u << 10)
#define SECOND_NS 1000000000ull
#define LOOK_MIN_NS 20000ull
#define LOOK_MAX_NS 10000000ull
#define END_NS 500000000ull /* for threads that have not stopped when the trace ends */

struct held {
	struct hold hold;
	int cpu; /* whose holder thread has stopped it: ptrace is between threads */
	uint64_t offset;
	uint32_t fd;
	enum hold_state state;
	int status; /* of the stop, from waitpid */
	bool released;
};

struct holder_thread {
	struct holder *holder;
	int cpu;
	size_t buffer; /* its index in the perf buffer */
	int wake;      /* an eventfd */
	pthread_t thread;
	bool started;
};

struct holder {
	struct perf_buffer *requests;
	ARRAY(int) cpus;
	struct holder_thread *threads; /* one for each of `cpus` */
	pthread_mutex_t lock;	       /* protects the members below */
	pthread_cond_t changed;
	ARRAY(struct held) list;
	bool finish;
};

/* ---- the thread of a CPU ---------------------------------------------------------------------------------------- */

/* Requests the stop before anything else: the holder of the lock may not be running. */
static void take_request(struct holder *holder, int cpu, const struct gpt_hold *request)
{
	struct held held = {
		.hold = {.pid = (pid_t)request->pid, .tid = (pid_t)request->tid, .time_ns = request->time_ns},
		.cpu = cpu,
		.offset = request->offset,
		.fd = request->fd,
	};
	int error = stop_ptrace(PTRACE_SEIZE, held.hold.tid, NULL, NULL);

	if (!error)
		error = stop_ptrace(PTRACE_INTERRUPT, held.hold.tid, NULL, NULL);
	held.state = !error ? HOLD_ASKED : error == -ESRCH ? HOLD_OVER : HOLD_REFUSED;
	pthread_mutex_lock(&holder->lock);
	array_push(&holder->list, held);
	pthread_mutex_unlock(&holder->lock);
}

/* PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW, perf_event_open(2). A lost event means a missing hold. */
static enum bpf_perf_event_ret take_event(void *context, int cpu, struct perf_event_header *header)
{
	const struct {
		struct perf_event_header header;
		uint32_t bytes;
		char request[];
	} *event = (const void *)header;
	struct gpt_hold request;

	if (header->type == PERF_RECORD_SAMPLE && event->bytes >= sizeof(request)) {
		memcpy(&request, event->request, sizeof(request));
		take_request(context, cpu, &request);
	}
	return LIBBPF_PERF_EVENT_CONT;
}

/* Whether the thread is stopped at the return of the call that mapped the library, and not later. */
static bool is_in_time(const struct held *held)
{
	struct user_regs_struct regs;

	return !stop_ptrace(PTRACE_GETREGS, held->hold.tid, NULL, &regs) && regs.orig_rax == SYS_mmap &&
	       regs.rdx & PROT_EXEC && (uint32_t)regs.r8 == held->fd && regs.r9 == held->offset;
}

/*
 * A parent does not see a process's end before its tracer has. If gputrace is both, the end is left to the code that
 * waits for the command.
 */
static void reap(const struct hold *hold)
{
	struct process_info info;
	bool is_command = false;
	int status;

	if (hold->tid == hold->pid && !process_info_read(hold->pid, &info)) {
		is_command = info.parent == getpid();
		process_info_free(&info);
	}
	if (!is_command)
		(void)waitpid(hold->tid, &status, __WALL | WNOHANG);
}

/* True if the state has changed. */
static bool look_at(struct held *held)
{
	int error;

	if (held->state != HOLD_ASKED)
		return false;
	error = stop_wait(held->hold.tid, 0, &held->status);
	if (error == -ETIMEDOUT)
		return false;
	held->hold.stopped_ns = monotonic_ns();
	if (!error) {
		held->state = is_in_time(held) ? HOLD_IN_TIME : HOLD_LATE;
	} else {
		held->state = HOLD_OVER;
		reap(&held->hold);
	}
	return true;
}

/* Lets the thread run if the caller has released it; true: nothing is left to do for it. */
static bool release(const struct held *held)
{
	const struct stopped thread = {.pid = held->hold.pid, .tid = held->hold.tid};

	if (!held->released || held->state == HOLD_ASKED)
		return false;
	/* -ESRCH: the thread has been killed meanwhile. */
	if ((held->state == HOLD_IN_TIME || held->state == HOLD_LATE) && stop_leave(&thread, held->status) == -ESRCH)
		reap(&held->hold);
	return true;
}

/* Looks at the threads that this one has stopped; returns in how many ns to look again, -1: nothing is expected. */
static int64_t look_at_own(const struct holder_thread *thread)
{
	struct holder *holder = thread->holder;
	uint64_t now_ns = monotonic_ns(), pause_ns = UINT64_MAX;
	bool changed = false;

	pthread_mutex_lock(&holder->lock);
	for (size_t i = 0; i < holder->list.count; i++) {
		struct held *held = &holder->list.items[i];

		if (held->cpu != thread->cpu)
			continue;
		changed |= look_at(held);
		if (held->state == HOLD_ASKED && (now_ns - held->hold.time_ns) / 8 < pause_ns)
			pause_ns = (now_ns - held->hold.time_ns) / 8;
		if (release(held))
			holder->list.items[i--] = holder->list.items[--holder->list.count];
	}
	if (changed)
		pthread_cond_broadcast(&holder->changed);
	pthread_mutex_unlock(&holder->lock);
	if (pause_ns == UINT64_MAX)
		return -1;
	return (int64_t)(pause_ns < LOOK_MIN_NS ? LOOK_MIN_NS : pause_ns > LOOK_MAX_NS ? LOOK_MAX_NS : pause_ns);
}

static bool finishes(struct holder *holder)
{
	bool finish;

	pthread_mutex_lock(&holder->lock);
	finish = holder->finish;
	pthread_mutex_unlock(&holder->lock);
	return finish;
}

/*
 * Raises the thread's priority: its work takes microseconds, and the target waits. Without the privilege for that it is
 * late at times.
 */
static void go_first(int cpu)
{
	const struct sched_param priority = {.sched_priority = 1};
	size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);

	if (set) {
		CPU_ZERO_S(bytes, set);
		CPU_SET_S((size_t)cpu, bytes, set);
		(void)sched_setaffinity(0, bytes, set);
		CPU_FREE(set);
	}
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority))
		(void)setpriority(PRIO_PROCESS, 0, -20);
}

static void *thread_main(void *context)
{
	struct holder_thread *thread = context;
	struct holder *holder = thread->holder;
	struct pollfd fds[] = {{.fd = perf_buffer__buffer_fd(holder->requests, thread->buffer), .events = POLLIN},
			       {.fd = thread->wake, .events = POLLIN}};
	uint64_t count;

	go_first(thread->cpu);
	while (!finishes(holder)) {
		int64_t pause_ns;
		struct timespec pause;

		(void)perf_buffer__consume_buffer(holder->requests, thread->buffer);
		pause_ns = look_at_own(thread);
		pause = (struct timespec){.tv_nsec = pause_ns > 0 ? pause_ns : 0};
		(void)ppoll(fds, 2, pause_ns < 0 ? NULL : &pause, NULL);
		(void)!read(thread->wake, &count, sizeof(count));
	}
	/* The kernel releases threads that have not stopped by then when this thread ends. */
	for (uint64_t begin_ns = monotonic_ns(); look_at_own(thread) >= 0 && monotonic_ns() - begin_ns < END_NS;)
		usleep(100);
	return NULL;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

static void wake_all(struct holder *holder)
{
	uint64_t one = 1;

	for (size_t i = 0; i < holder->cpus.count; i++)
		if (holder->threads[i].started)
			(void)!write(holder->threads[i].wake, &one, sizeof(one));
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
	pthread_mutex_init(&holder->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&holder->changed, &clock);
	pthread_condattr_destroy(&clock);
}

/* "0-3,5" */
static int find_cpus(struct holder *holder)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	int first, last;

	if (!file)
		return -errno;
	while (fscanf(file, "%d", &first) == 1) {
		if (fscanf(file, "-%d", &last) != 1)
			last = first;
		for (; first <= last; first++)
			array_push(&holder->cpus, first);
		(void)fgetc(file); /* the comma */
	}
	fclose(file);
	return holder->cpus.count ? 0 : -ENOENT;
}

static int open_requests(struct holder *holder, int map)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	LIBBPF_OPTS(perf_buffer_raw_opts, options, .cpu_cnt = (int)holder->cpus.count, .cpus = holder->cpus.items,
		    .map_keys = holder->cpus.items);

	holder->requests = perf_buffer__new_raw(map, 1, &attributes, take_event, holder, &options);
	return holder->requests ? 0 : -errno;
}

static int start_thread(struct holder *holder, size_t index)
{
	struct holder_thread *thread = &holder->threads[index];
	int error;

	*thread = (struct holder_thread){.holder = holder, .cpu = holder->cpus.items[index], .buffer = index};
	thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->wake < 0)
		return -errno;
	error = thread_start(thread_main, thread, STACK_BYTES, &thread->thread);
	if (error)
		close(thread->wake);
	thread->started = !error;
	return error;
}

int holder_start(int requests_map, struct holder **out)
{
	struct holder *holder = xcalloc(1, sizeof(*holder));
	int error;

	init_lock(holder);
	error = find_cpus(holder);
	holder->threads = xcalloc(holder->cpus.count + 1, sizeof(*holder->threads));
	if (!error)
		error = open_requests(holder, requests_map);
	for (size_t i = 0; i < holder->cpus.count && !error; i++)
		error = start_thread(holder, i);
	if (error)
		holder_stop(holder);
	else
		*out = holder;
	return error;
}

static struct held *find(struct holder *holder, const struct hold *hold)
{
	for (size_t i = 0; i < holder->list.count; i++)
		if (holder->list.items[i].hold.tid == hold->tid && holder->list.items[i].hold.time_ns == hold->time_ns)
			return &holder->list.items[i];
	return NULL;
}

enum hold_state holder_look(struct holder *holder, struct hold *hold, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic_ns() + patience_ns;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SECOND_NS),
				       .tv_nsec = (long)(until_ns % SECOND_NS)};
	enum hold_state state = HOLD_ASKED;
	struct held *held;
	int error = 0;

	pthread_mutex_lock(&holder->lock);
	for (;;) {
		held = find(holder, hold);
		if (held) {
			state = held->state;
			hold->stopped_ns = held->hold.stopped_ns;
		}
		if (state != HOLD_ASKED || error || !patience_ns)
			break;
		error = pthread_cond_timedwait(&holder->changed, &holder->lock, &until);
	}
	pthread_mutex_unlock(&holder->lock);
	return state;
}

void holder_release(struct holder *holder, const struct hold *hold)
{
	struct held *held;

	pthread_mutex_lock(&holder->lock);
	held = find(holder, hold);
	if (held)
		held->released = true;
	pthread_mutex_unlock(&holder->lock);
	wake_all(holder);
}

void holder_stop(struct holder *holder)
{
	if (!holder)
		return;
	pthread_mutex_lock(&holder->lock);
	holder->finish = true;
	for (size_t i = 0; i < holder->list.count; i++)
		holder->list.items[i].released = true;
	pthread_mutex_unlock(&holder->lock);
	wake_all(holder);
	for (size_t i = 0; i < holder->cpus.count; i++)
		if (holder->threads[i].started) {
			pthread_join(holder->threads[i].thread, NULL);
			close(holder->threads[i].wake);
		}
	perf_buffer__free(holder->requests);
	free(holder->threads);
	array_free(&holder->cpus);
	array_free(&holder->list);
	pthread_cond_destroy(&holder->changed);
	pthread_mutex_destroy(&holder->lock);
	free(holder);
}
