/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/msg.h"
#include "base/safe_text.h"
#include "base/standard_streams.h"
#include "dump/process/flight_recorder.h"
#include "dump/process/kernel.h"
#include "dump/process/tasks.h"
#include "dump/process/waits.h"
#include "target/halt.h"
#include "target/process.h"
#include "target/reader.h"

#define MS 1000000ull
#define ARENA_BYTES (256u << 20)  /* address space; memory is allocated at first use */
#define REFUSAL_BYTES (64u << 10) /* for an arena that has only the reason */
#define PATIENCE_NS (1000 * MS)	  /* for a child that does not run */
#define RUN_MAX_NS (10000 * MS)	  /* for a child: the most that a hostile process can cost */
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

/* ---- in the child -------------------------------------------------------------------------------------------- */

static bool open_memory(struct looker *looker)
{
	struct dump_process *process = looker->process;
	char why[512] = "";
	int error = mappings_read(process->pid, &looker->mappings);

	if (error) {
		if (error == -EACCES || error == -EPERM)
			process->refused = "may not be read: it is another user's, or guarded; root may";
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

int look_child_begin(const char *name, int keep)
{
	sigset_t every;

	sigfillset(&every); /* Ctrl-C must not end it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep = close_files(keep);
	prctl(PR_SET_NAME, name);
	readers_work_here();
	return keep;
}

static void __attribute__((noreturn)) run_look(struct look *look, enum look_depth depth)
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

/* ---- in gputrace --------------------------------------------------------------------------------------------- */

static const char *command_of(struct look *look, const struct process_info *info)
{
	return arena_text(look->arena, "%s", *info->cmdline ? info->cmdline : info->comm);
}

static const char *reason_to_refuse(pid_t pid, struct process_info *info)
{
	int error = process_info_read(pid, info);

	if (error)
		return error == -ESRCH ? "no such process" : "not readable";
	if (info->kernel_thread)
		return "a thread of the kernel, which runs no program";
	return info->zombie ? "has ended: a zombie, whose parent has not waited for it" : NULL;
}

static int refuse_start(struct look *look, int error)
{
	look->process->refused = arena_text(
		look->arena,
		"no look at it can be started (%s); name fewer processes, or allow more (ulimit -v, ulimit -u)",
		strerror(-error));
	return error;
}

/* Makes an arena, at least with room for the reason. */
static int make_room(struct look *look)
{
	int error = arena_make(&look->arena, ARENA_BYTES);

	if (error && arena_make(&look->arena, REFUSAL_BYTES)) {
		msg_error("out of memory (%u bytes asked for); name fewer processes", REFUSAL_BYTES);
		exit(1);
	}
	look->process = arena_take(look->arena, sizeof(*look->process));
	return error;
}

int look_start(struct look *look, pid_t pid, enum look_depth depth)
{
	struct process_info info = {0};
	int error = make_room(look);

	look->child = 0;
	look->process->pid = pid;
	look->process->name = "";
	look->process->refused = reason_to_refuse(pid, &info);
	if (info.pid) {
		info.cmdline = process_cmdline(pid);
		look->process->name = command_of(look, &info);
		look->process->parent = info.parent;
		look->process->forked = info.forked;
	}
	process_info_free(&info);
	if (look->process->refused)
		return 0;
	if (error)
		return refuse_start(look, error);
	look->child = fork();
	if (!look->child)
		run_look(look, depth);
	if (look->child > 0)
		return 0;
	error = -errno;
	look->child = 0;
	return refuse_start(look, error);
}

/* status: the child's, as from wait(2), -1: it has not ended. */
static const char *why_unread(const struct look *look, int status)
{
	if (status < 0)
		return "its memory or its files do not answer";
	if (WIFSIGNALED(status))
		return arena_text(look->arena, "the process of gputrace that read it was ended by signal %d%s",
				  WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ", as for want of memory" : "");
	return "the process of gputrace that read it had too little memory; allow more (ulimit -v)";
}

/* Reads the kernel's facts in gputrace itself: the child has ended, or does not answer and may still write to its data.
 */
static void take_kernel_s(struct look *look, int status)
{
	struct dump_process *process = look->process, *fresh;

	if (status < 0)
		kill(look->child, SIGKILL);
	fresh = arena_take(look->arena, sizeof(*fresh));
	if (!fresh)
		return;
	*fresh = (struct dump_process){.pid = process->pid,
				       .parent = process->parent,
				       .name = process->name,
				       .forked = process->forked,
				       .silent = true,
				       .no_python = why_unread(look, status)};
	look->process = fresh;
	if (kernel_threads(look->arena, fresh))
		fresh->refused = "has ended";
	fresh->frozen = process_is_frozen(fresh->pid);
	for (unsigned i = 0; i < fresh->thread_count; i++)
		waits_find(&(struct looker){.process = fresh, .arena = look->arena}, i);
}

/* A child that waits for a processor, or pauses before its second look, is not stuck. */
bool look_is_stuck(struct look *look)
{
	char path[64], text[128] = "";
	uint64_t run_ns, now_ns = monotonic_ns();

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)look->child);
	(void)kernel_read(path, text, sizeof(text));
	run_ns = strtoull(text, NULL, 10);
	if (run_ns != look->run_ns || !look->waits_since_ns || process_state(look->child) == 'R') {
		look->run_ns = run_ns;
		look->waits_since_ns = now_ns;
	}
	return now_ns - look->waits_since_ns > PATIENCE_NS || run_ns > RUN_MAX_NS;
}

static void finish_look(struct look *look, int status)
{
	if (look->process->stage != STAGE_THREADS && !look->process->refused)
		take_kernel_s(look, status);
	look->child = 0;
}

void looks_finish(look_list *looks)
{
	size_t left;

	do {
		left = 0;
		for (size_t i = 0; i < looks->count; i++) {
			struct look *look = &looks->items[i];
			int status = -1;

			if (!look->child)
				continue;
			if (waitpid(look->child, &status, WNOHANG) != 0 || look_is_stuck(look))
				finish_look(look, status);
			else
				left++;
		}
		if (left)
			poll(NULL, 0, 5);
	} while (left);
}

void looks_free(look_list *looks)
{
	for (size_t i = 0; i < looks->count; i++)
		arena_free(looks->items[i].arena);
	array_free(looks);
}
