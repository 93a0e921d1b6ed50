/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the child does that looks at a process. */
#include "dump/process/look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/read_at.h"
#include "base/standard_streams.h"
#include "dump/process/flight_recorder.h"
#include "dump/process/kernel.h"
#include "dump/process/tasks.h"
#include "dump/process/waits.h"
#include "target/halt.h"
#include "target/reader.h"

#define MS 1000000ull
#define WOKEN_LOOKS 5
#define MOVES_RUN_NS (10 * MS) /* of 500 ms: a thread that waits with a time-out runs less */

/* The facts of the first look that are compared with the second. */
struct before {
	pid_t tid;
	struct thread_runs runs;
	uint64_t stack_hash;
	bool gil, torn;
};

struct before_list {
	ARRAY(struct before) list;
	uint64_t end_ns; /* end of that look */
};

static bool open_memory(struct looker *looker)
{
	struct dump_process *process = looker->process;
	char why[512] = "";
	int error = mappings_read(process->pid, &looker->mappings);

	if (error) {
		if (error == -EACCES || error == -EPERM)
			process->refused =
				arena_text(looker->arena, "may not be read: %s", process_explain_refused(process->pid));
		process->no_python = arena_text(looker->arena, "its memory map cannot be read: %s", strerror(-error));
		return false;
	}
	looker->native = (struct native){.pid = process->pid, .mappings = &looker->mappings, .arena = looker->arena};
	error = python_look_begin(&looker->python, process->pid, &looker->mappings, looker->arena, why, sizeof(why));
	looker->python.locals = looker->wants_locals;
	if (!error) {
		process->python = arena_text(looker->arena, "%s", looker->python.info.version);
		looker->has_python = true;
	} else if (error == -EAGAIN) {
		process->no_python = "its Python is still starting";
	} else if (error != -ENOENT) {
		process->no_python = arena_text(looker->arena, "%s", *why ? why : strerror(-error));
	}
	return true;
}

static int look_once(struct looker *looker)
{
	uint64_t begun_ns = monotonic_ns();
	int error = kernel_threads(looker->arena, looker->process);

	if (error)
		return error;
	looker->process->frozen = process_is_frozen(looker->process->pid);
	if (looker->process->stage == STAGE_BEGUN)
		looker->process->stage = STAGE_KERNEL;
	if (!looker->has_memory && looker->process->stage == STAGE_KERNEL && !looker->process->no_python)
		looker->has_memory = open_memory(looker);
	if (looker->process->refused)
		return -EACCES;
	if (looker->has_python)
		python_look_threads(&looker->python, looker->process);
	if (monotonic_ns() - begun_ns > looker->process->look_ns)
		looker->process->look_ns = monotonic_ns() - begun_ns;
	return 0;
}

/* A thread that waits for the GIL wakes every 5 ms to ask for it (take_gil, Python/ceval_gil.c). */
static bool waits_for_gil(const struct looker *looker, const struct dump_thread *thread)
{
	uint64_t gil = looker->has_python ? looker->python.gil.address : 0;

	return gil && thread->in_call && thread->call == SYS_futex &&
	       thread->args[0] - gil < looker->python.info.walk.layout.gil_end;
}

static void keep_before(const struct looker *looker, struct before_list *before)
{
	before->end_ns = monotonic_ns();
	for (unsigned i = 0; i < looker->process->thread_count; i++) {
		const struct dump_thread *thread = &looker->process->threads[i];

		array_push(&before->list, ((struct before){thread->tid, runs_of(thread), thread->stack_hash,
							   waits_for_gil(looker, thread), thread->torn}));
	}
}

/* Both looks have the threads in the same order, but for those that began or ended: the search goes on from `from`. */
static const struct before *find_before(const struct before_list *before, pid_t tid, size_t *from)
{
	for (size_t i = 0; i < before->list.count; i++) {
		size_t at = (*from + i) % before->list.count;

		if (before->list.items[at].tid == tid) {
			*from = at + 1;
			return &before->list.items[at];
		}
	}
	return NULL;
}

/* Sets from two looks how long a thread has been in the same place. */
static void set_durations(struct dump_thread *thread, const struct before *old, uint64_t distance_ns)
{
	if (has_not_run_since(&old->runs, thread))
		thread->not_run_ns = distance_ns;
	if (thread->tstate && !thread->torn && !old->torn && !thread->unreadable &&
	    thread->stack_hash == old->stack_hash)
		thread->same_frames_ns = distance_ns;
}

static bool is_sleep(bool in_call, long call, const uint64_t args[6])
{
	switch (in_call ? call : -1) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return true;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return !args[0]; /* without files */
	default:
		return false;
	}
}

/*
 * Whether it woke only to sleep again at the same line: it waits for what it looks at each time (a file, a store).
 * Waiting for a GPU is done in the same way, inside of a call of CUDA's, and then more may happen than is seen.
 */
static bool only_polls(struct looker *looker, const struct dump_thread *thread, const struct before *old)
{
	const char *library;

	return thread->moved_switches && thread->moved_run_ns <= MOVES_RUN_NS && !thread->torn && !old->torn &&
	       old->stack_hash == thread->stack_hash && old->runs.state == 'S' && thread->state == 'S' &&
	       is_sleep(old->runs.in_call, old->runs.call, old->runs.args) &&
	       is_sleep(thread->in_call, thread->call, thread->args) && looker->has_memory &&
	       !native_cuda_call(&looker->native, thread->sp, &library);
}

/*
 * Whether each thread made progress: it ran, its stack changed, or it woke.  Waking up counts only for threads that
 * execute Python, as threads of libraries wake by timers, and so does having had no CPU at either look.  Waking up for
 * the GIL is no progress, and so is waking up to sleep again.
 */
static void compare_looks(struct looker *looker, const struct before_list *before)
{
	struct dump_process *process = looker->process;
	size_t from = 0;

	process->moves = false;
	for (unsigned i = 0; i < process->thread_count; i++) {
		struct dump_thread *thread = &process->threads[i];
		const struct before *old = find_before(before, thread->tid, &from);
		bool gil = waits_for_gil(looker, thread);

		if (!old) {
			thread->moves = process->moves = true;
			continue;
		}
		thread->moved_run_ns = thread->run_ns - old->runs.run_ns;
		thread->moved_switches = thread->switches - old->runs.switches;
		set_durations(thread, old, process->begun_ns - before->end_ns);
		gil |= old->gil;
		thread->wants_gil = gil;
		thread->polls = only_polls(looker, thread, old);
		thread->moves = thread->moved_run_ns > MOVES_RUN_NS || old->stack_hash != thread->stack_hash ||
				thread->torn ||
				(thread->tstate && !gil && !thread->polls &&
				 (thread->moved_switches || (old->runs.state == 'R' && thread->state == 'R')));
		process->moves |= thread->moves;
	}
}

/* Looks again at Python threads that have just woken to ask for the GIL: a moment later they wait for it. */
static void reread_woken(struct looker *looker)
{
	struct timespec moment = {.tv_nsec = MS};
	bool any = looker->has_python;

	for (int i = 0; i < WOKEN_LOOKS && any; i++) {
		any = false;
		for (unsigned k = 0; k < looker->process->thread_count; k++) {
			struct dump_thread *thread = &looker->process->threads[k];

			if (thread->state != 'R' || !thread->tstate || thread->holds_gil)
				continue;
			kernel_thread_again(looker->process->pid, thread);
			any = true;
		}
		if (any)
			nanosleep(&moment, NULL);
	}
}

static const char *number_of(const struct looker *looker, const char *variable)
{
	AUTO_FREE char *value = process_variable(looker->process->pid, variable);
	bool good = value && *value && strlen(value) < PROCESS_RANK_MAX && !value[strspn(value, "0123456789")];
	const char *kept = good ? arena_text(looker->arena, "%s", value) : NULL;

	return kept;
}

static void read_rank(const struct looker *looker)
{
	struct dump_process *process = looker->process;
	AUTO_FREE char *address = NULL, *port = NULL, *ras = process_variable(process->pid, "NCCL_RAS_ADDR");

	if (ras)
		process->ras_address = arena_text(looker->arena, "%s", ras);
	process->rank = number_of(looker, "RANK");
	process->world_size = number_of(looker, "WORLD_SIZE");
	address = process_variable(process->pid, "MASTER_ADDR");
	port = process_variable(process->pid, "MASTER_PORT");
	if (process->rank && address && port)
		process->job = arena_text(looker->arena, "%s:%s", address, port);
}

static void refuse_process(const struct looker *looker, int error)
{
	struct dump_process *process = looker->process;

	if (!process->refused)
		process->refused = error == -ESRCH
					   ? "has ended"
					   : arena_text(looker->arena, "cannot be looked at: %s", strerror(-error));
}

static void look_once_only(struct looker *looker)
{
	int error = look_once(looker);

	if (error)
		refuse_process(looker, error);
}

static void look_twice(struct looker *looker)
{
	struct dump_process *process = looker->process;
	struct before_list before = {0};
	struct task_places places;
	int error = look_once(looker);

	if (!error) {
		struct timespec distance = {.tv_nsec = LOOKS_DISTANCE_MS * (long)MS};

		if (looker->has_memory)
			read_rank(looker);
		keep_before(looker, &before);
		nanosleep(&distance, NULL);
		error = look_once(looker);
	}
	if (error) {
		refuse_process(looker, error);
		return;
	}
	reread_woken(looker);
	compare_looks(looker, &before);
	if (looker->has_python) {
		tasks_find(&looker->python, process, &places);
		tasks_read(&looker->python, process, &places);
	}
	if (looker->has_memory)
		flight_recorder_read(looker);
	for (unsigned i = 0; i < process->thread_count; i++) {
		struct dump_thread *thread = &process->threads[i];

		if (looker->has_python && thread->tstate)
			python_look_names(&looker->python, process, i);
		if (looker->has_memory && thread->in_call)
			thread->native = native_function(&looker->native, thread->pc, &thread->library);
		waits_find(looker, i);
	}
	array_free(&before.list);
}

/* An abandoned child may live long: whoever waits for the last copy of a descriptor must not wait for it. */
static int close_files(int keep)
{
	if (keep >= 0 && keep < STANDARD_STREAMS)
		keep = fcntl(keep, F_DUPFD, STANDARD_STREAMS);
	standard_streams_leave();
	if (keep > STANDARD_STREAMS)
		syscall(SYS_close_range, STANDARD_STREAMS, keep - 1, 0); /* Linux 5.9 */
	syscall(SYS_close_range, keep < 0 ? STANDARD_STREAMS : keep + 1, ~0U, 0);
	return keep;
}

/*
 * What a process has in its memory may refer to the same bytes again and again, and each copy would be kept.  What
 * gputrace itself has at the fork is not the process's.
 */
static void limit_memory(void)
{
	struct rlimit limit;
	char text[128];
	uint64_t pages;

	if (!read_small_file(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) ||
	    sscanf(text, "%*u %*u %*u %*u %*u %" SCNu64, &pages) != 1 || getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + LOOK_MEMORY_MAX;
	if (limit.rlim_cur < limit.rlim_max)
		(void)setrlimit(RLIMIT_DATA, &limit);
}

int look_child_begin(const char *name, int keep)
{
	sigset_t every;

	sigfillset(&every); /* Ctrl-C must not end it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep = close_files(keep);
	prctl(PR_SET_NAME, name);
	limit_memory();
	readers_work_here();
	return keep;
}

void look_run(struct look *look, enum look_depth depth)
{
	struct looker looker = {.process = look->process, .arena = look->arena};

	looker.wants_locals = depth == LOOK_LOCALS;
	look_child_begin("gputrace-look", -1);
	if (depth == LOOK_STACKS)
		look_once_only(&looker);
	else
		look_twice(&looker);
	look->process->stage = STAGE_THREADS;
	_exit(0);
}
