/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One thread per CPU takes the BPF side's requests there: it stops the target's thread, looks at it and lets it go. It
 * is woken in the middle of the target's system call and has a higher priority: it runs before the target is back. That
 * needs memory of its own: in gputrace's, a fork by another thread makes every page fault wait until that thread, which
 * has no such priority, has copied all of it.
 */
#include "attach/hold_process.h"

#include <errno.h>
#include <fcntl.h>
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
#include "base/thread.h"

#define STACK_BYTES (256u << 10)
#define LOOK_MIN_NS 20000ull
#define LOOK_MAX_NS 10000000ull
#define END_NS 500000000ull /* for threads that have not stopped when the trace ends */

static struct perf_buffer *requests;

void holder_lock(struct holder *holder)
{
	if (pthread_mutex_lock(&holder->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&holder->lock);
}

void holder_unlock(struct holder *holder)
{
	pthread_mutex_unlock(&holder->lock);
}

/* ---- the thread of a CPU ---------------------------------------------------------------------------------------- */

/* Requests the stop before anything else: the holder of the lock may not be running. */
static void take_request(struct holder *holder, int cpu, const struct gpt_hold *request)
{
	struct held held = {
		.pid = (pid_t)request->pid,
		.tid = (pid_t)request->tid,
		.time_ns = request->time_ns,
		.cpu = cpu,
		.offset = request->offset,
		.fd = request->fd,
	};
	int error;

	if (atomic_fetch_add(&holder->places, 1) >= HELD_MOST) {
		atomic_fetch_sub(&holder->places, 1);
		return;
	}
	error = stop_ptrace(PTRACE_SEIZE, held.tid, NULL, NULL);
	if (!error)
		error = stop_ptrace(PTRACE_INTERRUPT, held.tid, NULL, NULL);
	held.state = !error ? HOLD_ASKED : error == -ESRCH ? HOLD_OVER : HOLD_REFUSED;
	holder_lock(holder);
	holder->list[holder->held_count++] = held;
	holder_unlock(holder);
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

	return !stop_ptrace(PTRACE_GETREGS, held->tid, NULL, &regs) && regs.orig_rax == SYS_mmap &&
	       regs.rdx & PROT_EXEC && (uint32_t)regs.r8 == held->fd && regs.r9 == held->offset;
}

/* A parent does not see a process's end before its tracer has. */
static void reap(pid_t tid)
{
	int status;

	(void)waitpid(tid, &status, __WALL | WNOHANG);
}

/* True if the state has changed. */
static bool look_at(struct held *held)
{
	int error;

	if (held->state != HOLD_ASKED)
		return false;
	error = stop_wait(held->tid, 0, &held->status);
	if (error == -ETIMEDOUT)
		return false;
	held->stopped_ns = monotonic_ns();
	if (!error) {
		held->state = is_in_time(held) ? HOLD_IN_TIME : HOLD_LATE;
	} else {
		held->state = HOLD_OVER;
		reap(held->tid);
	}
	return true;
}

/* Lets the thread run if the caller has released it; true: nothing is left to do for it. */
static bool release(const struct held *held)
{
	const struct stopped thread = {.pid = held->pid, .tid = held->tid};

	if (!held->released || held->state == HOLD_ASKED)
		return false;
	/* -ESRCH: the thread has been killed meanwhile. */
	if ((held->state == HOLD_IN_TIME || held->state == HOLD_LATE) && stop_leave(&thread, held->status) == -ESRCH)
		reap(held->tid);
	return true;
}

/* Looks at the threads that this one has stopped; returns in how many ns to look again, -1: nothing is expected. */
static int64_t look_at_own(const struct holder_cpu *thread)
{
	struct holder *holder = thread->holder;
	uint64_t now_ns = monotonic_ns(), pause_ns = UINT64_MAX;
	bool changed = false;

	holder_lock(holder);
	for (size_t i = 0; i < holder->held_count; i++) {
		struct held *held = &holder->list[i];

		if (held->cpu != thread->cpu)
			continue;
		changed |= look_at(held);
		if (held->state == HOLD_ASKED && (now_ns - held->time_ns) / 8 < pause_ns)
			pause_ns = (now_ns - held->time_ns) / 8;
		if (release(held)) {
			holder->list[i--] = holder->list[--holder->held_count];
			atomic_fetch_sub(&holder->places, 1);
		}
	}
	if (changed)
		pthread_cond_broadcast(&holder->changed);
	holder_unlock(holder);
	if (pause_ns == UINT64_MAX)
		return -1;
	return (int64_t)(pause_ns < LOOK_MIN_NS ? LOOK_MIN_NS : pause_ns > LOOK_MAX_NS ? LOOK_MAX_NS : pause_ns);
}

static bool finishes(struct holder *holder)
{
	bool finish;

	holder_lock(holder);
	finish = holder->finish;
	holder_unlock(holder);
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
	struct holder_cpu *thread = context;
	struct holder *holder = thread->holder;
	struct pollfd fds[] = {{.fd = perf_buffer__buffer_fd(requests, thread->buffer), .events = POLLIN},
			       {.fd = thread->wake, .events = POLLIN}};
	uint64_t count;

	go_first(thread->cpu);
	while (!finishes(holder)) {
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
	int *cpus = xcalloc(holder->cpu_count, sizeof(*cpus)), error;
	LIBBPF_OPTS(perf_buffer_raw_opts, options, .cpu_cnt = (int)holder->cpu_count, .cpus = cpus, .map_keys = cpus);

	for (size_t i = 0; i < holder->cpu_count; i++)
		cpus[i] = holder->cpus[i].cpu;
	requests = perf_buffer__new_raw(map, 1, &attributes, take_event, holder, &options);
	error = requests ? 0 : -errno;
	free(cpus);
	return error;
}

static int start_threads(struct holder *holder)
{
	int error = 0;

	for (size_t i = 0; i < holder->cpu_count && !error; i++) {
		error = thread_start(thread_main, &holder->cpus[i], STACK_BYTES, &holder->cpus[i].thread);
		holder->cpus[i].started = !error;
	}
	return error;
}

static void report_life(struct holder *holder, int error)
{
	holder_lock(holder);
	holder->error = error;
	holder->life = error ? HOLDER_FAILED : HOLDER_READY;
	holder->finish |= error != 0;
	pthread_cond_broadcast(&holder->changed);
	holder_unlock(holder);
}

static bool is_needed(const struct holder *holder, int requests_map, int fd)
{
	bool needed = fd == requests_map || fd < 3;

	for (size_t i = 0; i < holder->cpu_count; i++)
		needed |= holder->cpus[i].wake == fd;
	return needed;
}

/* Descriptors of others would stay open with this process: links, sockets at whose other end someone waits. */
static void close_others(const struct holder *holder, int requests_map)
{
	int last = requests_map;

	for (size_t i = 0; i < holder->cpu_count; i++)
		last = holder->cpus[i].wake > last ? holder->cpus[i].wake : last;
	for (int fd = 0; fd < last; fd++)
		if (!is_needed(holder, requests_map, fd))
			close(fd);
	syscall(SYS_close_range, last + 1, ~0U, 0); /* Linux 5.9 */
}

/* Who reads gputrace's output waits for its end, which may be before this process's. */
static void leave_standard_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null > 2)
		close(null);
}

/* Until gputrace has ended, in any way, or wants the end: both are a SIGTERM. */
static void wait_for_end(struct holder *holder)
{
	sigset_t end;
	int number;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	while (!finishes(holder)) {
		sigwait(&end, &number);
		if (getppid() != holder->owner)
			_exit(0);
	}
}

void holder_serve(struct holder *holder, int requests_map)
{
	sigset_t every;
	int error;

	sigfillset(&every); /* Ctrl-C must not end it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != holder->owner)
		_exit(0);
	prctl(PR_SET_NAME, "gputrace-holder");
	close_others(holder, requests_map);
	leave_standard_streams();
	error = open_requests(holder, requests_map);
	if (!error)
		error = start_threads(holder);
	report_life(holder, error);
	wait_for_end(holder);
	for (size_t i = 0; i < holder->cpu_count; i++)
		if (holder->cpus[i].started)
			pthread_join(holder->cpus[i].thread, NULL);
	_exit(0);
}
