/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One thread per CPU takes the BPF side's requests there: it stops the target's thread, checks it and lets it go on. It
 * is woken in the middle of the target's system call and has a higher priority: it runs before the target is back. That
 * needs memory of its own: in gputrace's, a fork by another thread makes every page fault wait until that thread, which
 * has no such priority, has copied all of it.
 */
#include "attach/stopper_process.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
#include "base/standard_streams.h"
#include "base/threads/thread.h"

#define STACK_BYTES (256u << 10)
#define LOOK_MIN_NS 20000ull
#define LOOK_MAX_NS 10000000ull
#define END_NS 500000000ull /* for threads that have not stopped when the trace ends */

static struct perf_buffer *requests;

void stopper_lock(struct stopper *stopper)
{
	if (pthread_mutex_lock(&stopper->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&stopper->lock);
}

void stopper_unlock(struct stopper *stopper)
{
	pthread_mutex_unlock(&stopper->lock);
}

/* ---- the thread of a CPU ---------------------------------------------------------------------------------------- */

/* Requests the stop before anything else: the owner of the lock may not be running. */
static void take_request(struct stopper *stopper, int cpu, const struct gpt_stop_request *request)
{
	struct stopped_thread stopped_thread = {
		.pid = (pid_t)request->pid,
		.tid = (pid_t)request->tid,
		.time_ns = request->time_ns,
		.cpu = cpu,
		.offset = request->offset,
		.fd = request->fd,
	};
	int error;

	if (atomic_fetch_add(&stopper->places, 1) >= STOPPED_MOST) {
		atomic_fetch_sub(&stopper->places, 1);
		return;
	}
	error = stop_ptrace(PTRACE_SEIZE, stopped_thread.tid, NULL, NULL);
	if (!error)
		error = stop_ptrace(PTRACE_INTERRUPT, stopped_thread.tid, NULL, NULL);
	stopped_thread.state = !error ? STOP_ASKED : error == -ESRCH ? STOP_OVER : STOP_REFUSED;
	stopper_lock(stopper);
	stopper->list[stopper->stopped_count++] = stopped_thread;
	stopper_unlock(stopper);
}

/* PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW, perf_event_open(2). A lost event means a missing stop. */
static enum bpf_perf_event_ret take_event(void *context, int cpu, struct perf_event_header *header)
{
	const struct {
		struct perf_event_header header;
		uint32_t bytes;
		char request[];
	} *event = (const void *)header;
	struct gpt_stop_request request;

	if (header->type == PERF_RECORD_SAMPLE && event->bytes >= sizeof(request)) {
		memcpy(&request, event->request, sizeof(request));
		take_request(context, cpu, &request);
	}
	return LIBBPF_PERF_EVENT_CONT;
}

/* Whether the thread is stopped at the return of the call that mapped the library, and not later. */
static bool is_in_time(const struct stopped_thread *stopped_thread)
{
	struct user_regs_struct regs;

	return !stop_ptrace(PTRACE_GETREGS, stopped_thread->tid, NULL, &regs) && regs.orig_rax == SYS_mmap &&
	       regs.rdx & PROT_EXEC && (uint32_t)regs.r8 == stopped_thread->fd && regs.r9 == stopped_thread->offset;
}

/* A parent does not see a process's end before its tracer has. */
static void reap_thread(pid_t tid)
{
	int status;

	(void)waitpid(tid, &status, __WALL | WNOHANG);
}

/* True if the state has changed. */
static bool look_at(struct stopped_thread *stopped_thread)
{
	int error;

	if (stopped_thread->state != STOP_ASKED)
		return false;
	error = stop_wait(stopped_thread->tid, 0, &stopped_thread->status);
	if (error == -ETIMEDOUT)
		return false;
	stopped_thread->stopped_ns = monotonic_ns();
	if (!error) {
		stopped_thread->state = is_in_time(stopped_thread) ? STOP_IN_TIME : STOP_LATE;
	} else {
		stopped_thread->state = STOP_OVER;
		reap_thread(stopped_thread->tid);
	}
	return true;
}

/* Lets the thread run if the caller has released it; true: nothing is left to do for it. */
static bool release_thread(const struct stopped_thread *stopped_thread)
{
	const struct stopped thread = {.pid = stopped_thread->pid, .tid = stopped_thread->tid};

	if (!stopped_thread->released || stopped_thread->state == STOP_ASKED)
		return false;
	/* -ESRCH: the thread has been killed meanwhile. */
	if ((stopped_thread->state == STOP_IN_TIME || stopped_thread->state == STOP_LATE) &&
	    stop_leave(&thread, stopped_thread->status) == -ESRCH)
		reap_thread(stopped_thread->tid);
	return true;
}

/* Checks the threads that this one has stopped; returns in how many ns to check again, -1: nothing is expected. */
static int64_t look_at_own(const struct stopper_cpu *thread)
{
	struct stopper *stopper = thread->stopper;
	uint64_t now_ns = monotonic_ns(), pause_ns = UINT64_MAX;
	bool changed = false;

	stopper_lock(stopper);
	for (size_t i = 0; i < stopper->stopped_count; i++) {
		struct stopped_thread *stopped_thread = &stopper->list[i];

		if (stopped_thread->cpu != thread->cpu)
			continue;
		changed |= look_at(stopped_thread);
		if (stopped_thread->state == STOP_ASKED && (now_ns - stopped_thread->time_ns) / 8 < pause_ns)
			pause_ns = (now_ns - stopped_thread->time_ns) / 8;
		if (release_thread(stopped_thread)) {
			stopper->list[i--] = stopper->list[--stopper->stopped_count];
			atomic_fetch_sub(&stopper->places, 1);
		}
	}
	if (changed)
		pthread_cond_broadcast(&stopper->changed);
	stopper_unlock(stopper);
	if (pause_ns == UINT64_MAX)
		return -1;
	return (int64_t)(pause_ns < LOOK_MIN_NS ? LOOK_MIN_NS : pause_ns > LOOK_MAX_NS ? LOOK_MAX_NS : pause_ns);
}

static bool must_finish(struct stopper *stopper)
{
	bool finish;

	stopper_lock(stopper);
	finish = stopper->finish;
	stopper_unlock(stopper);
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
	struct stopper_cpu *thread = context;
	struct stopper *stopper = thread->stopper;
	struct pollfd fds[] = {{.fd = perf_buffer__buffer_fd(requests, thread->buffer), .events = POLLIN},
			       {.fd = thread->wake, .events = POLLIN}};
	uint64_t count;

	go_first(thread->cpu);
	while (!must_finish(stopper)) {
		int64_t pause_ns;
		struct timespec pause;

		(void)perf_buffer__consume_buffer(requests, thread->buffer);
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

/* ---- the process ------------------------------------------------------------------------------------------------ */

static int open_requests(struct stopper *stopper, int map)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int *cpus = xcalloc(stopper->cpu_count, sizeof(*cpus)), error;
	LIBBPF_OPTS(perf_buffer_raw_opts, options, .cpu_cnt = (int)stopper->cpu_count, .cpus = cpus, .map_keys = cpus);

	for (size_t i = 0; i < stopper->cpu_count; i++)
		cpus[i] = stopper->cpus[i].cpu;
	requests = perf_buffer__new_raw(map, 1, &attributes, take_event, stopper, &options);
	error = requests ? 0 : -errno;
	free(cpus);
	return error;
}

static int start_threads(struct stopper *stopper)
{
	int error = 0;

	for (size_t i = 0; i < stopper->cpu_count && !error; i++) {
		error = thread_start(thread_main, &stopper->cpus[i], STACK_BYTES, &stopper->cpus[i].thread);
		stopper->cpus[i].started = !error;
	}
	return error;
}

static void report_life(struct stopper *stopper, int error)
{
	stopper_lock(stopper);
	stopper->error = error;
	stopper->life = error ? STOPPER_FAILED : STOPPER_READY;
	stopper->finish |= error != 0;
	pthread_cond_broadcast(&stopper->changed);
	stopper_unlock(stopper);
}

static bool is_needed(const struct stopper *stopper, int requests_map, int fd)
{
	return fd == requests_map || fd < STANDARD_STREAMS ||
	       any_of(stopper->cpu_count, i, stopper->cpus[i].wake == fd);
}

/* Descriptors of others would stay open with this process: links, sockets at whose other end someone waits. */
static void close_others(const struct stopper *stopper, int requests_map)
{
	int last = requests_map;

	for (size_t i = 0; i < stopper->cpu_count; i++)
		last = stopper->cpus[i].wake > last ? stopper->cpus[i].wake : last;
	for (int fd = 0; fd < last; fd++)
		if (!is_needed(stopper, requests_map, fd))
			close(fd);
	syscall(SYS_close_range, last + 1, ~0U, 0); /* Linux 5.9 */
}

/* Until gputrace has ended, in any way, or wants the end: both are a SIGTERM. */
static void wait_for_end(struct stopper *stopper)
{
	sigset_t end;
	int number;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	while (!must_finish(stopper)) {
		sigwait(&end, &number);
		if (getppid() != stopper->owner)
			_exit(0);
	}
}

void stopper_serve(struct stopper *stopper, int requests_map)
{
	sigset_t every;
	int error;

	sigfillset(&every); /* Ctrl-C must not end it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != stopper->owner)
		_exit(0);
	prctl(PR_SET_NAME, "gputrace-stop");
	close_others(stopper, requests_map);
	standard_streams_leave();
	error = open_requests(stopper, requests_map);
	if (!error)
		error = start_threads(stopper);
	report_life(stopper, error);
	wait_for_end(stopper);
	for (size_t i = 0; i < stopper->cpu_count; i++)
		if (stopper->cpus[i].started)
			pthread_join(stopper->cpus[i].thread, NULL);
	_exit(0);
}
