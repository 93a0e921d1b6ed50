/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/waits.h"

#include <linux/futex.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/read_at.h"
#include "dump/process/kernel.h"
#include "dump/process/memory.h"

#define SECOND_NS 1000000000ull
#define MUTEX_OWNER_AT 8 /* pthread_mutex_t: __lock, __count, __owner, __nusers, __kind (glibc's struct_mutex.h) */
#define MUTEX_KIND_AT 16
#define MUTEX_KIND_MAX 0x3ff
#define SLEEP_MOST_S 1000000000 /* a larger value is not a time */
#define MUTEX_ROBUST 16		/* PTHREAD_MUTEX_ROBUST_NORMAL_NP, nptl/pthreadP.h */
#define PID_MOST (4u << 20)	/* PID_MAX_LIMIT, include/linux/threads.h */

/* What a system call does with its arguments. */
enum call_kind {
	CALL_READ,  /* arg 0 is a descriptor */
	CALL_WRITE, /* the same */
	CALL_POLL,
	CALL_SELECT,
	CALL_EPOLL,
	CALL_IOCTL,
	CALL_FUTEX,
	CALL_CHILD, /* argument `arg` is a process id */
	CALL_TIMER, /* argument `arg` points to the time */
	CALL_SIGNAL,
	CALL_PATH, /* argument `arg` is a path */
	CALL_OTHER,
};

static const struct call_row {
	long number;
	const char *name;
	enum call_kind kind;
	int arg;
	const char *verb; /* for a call with a descriptor */
} calls[] = {
	{SYS_read, "read", CALL_READ, 0, "to read from"},
	{SYS_pread64, "pread64", CALL_READ, 0, "to read from"},
	{SYS_readv, "readv", CALL_READ, 0, "to read from"},
	{SYS_preadv, "preadv", CALL_READ, 0, "to read from"},
	{SYS_recvfrom, "recvfrom", CALL_READ, 0, "to read from"},
	{SYS_recvmsg, "recvmsg", CALL_READ, 0, "to read from"},
	{SYS_getdents64, "getdents64", CALL_READ, 0, "to read from"},
	{SYS_write, "write", CALL_WRITE, 0, "to write to"},
	{SYS_pwrite64, "pwrite64", CALL_WRITE, 0, "to write to"},
	{SYS_writev, "writev", CALL_WRITE, 0, "to write to"},
	{SYS_sendto, "sendto", CALL_WRITE, 0, "to write to"},
	{SYS_sendmsg, "sendmsg", CALL_WRITE, 0, "to write to"},
	{SYS_connect, "connect", CALL_WRITE, 0, "to be connected by"},
	{SYS_fsync, "fsync", CALL_WRITE, 0, "to write to"},
	{SYS_fdatasync, "fdatasync", CALL_WRITE, 0, "to write to"},
	{SYS_flock, "flock", CALL_WRITE, 0, "for a lock of"},
	{SYS_fcntl, "fcntl", CALL_WRITE, 0, "for a lock of"},
	{SYS_accept, "accept", CALL_READ, 0, "for a connection on"},
	{SYS_accept4, "accept4", CALL_READ, 0, "for a connection on"},
	{SYS_ppoll, "ppoll", CALL_POLL, 0, NULL},
	{SYS_pselect6, "pselect6", CALL_SELECT, 0, NULL},
	{SYS_epoll_pwait, "epoll_pwait", CALL_EPOLL, 0, NULL},
	{SYS_epoll_pwait2, "epoll_pwait2", CALL_EPOLL, 0, NULL},
#ifdef SYS_poll
	{SYS_poll, "poll", CALL_POLL, 0, NULL},
	{SYS_select, "select", CALL_SELECT, 0, NULL},
	{SYS_epoll_wait, "epoll_wait", CALL_EPOLL, 0, NULL},
	{SYS_pause, "pause", CALL_SIGNAL, 0, NULL},
	{SYS_open, "open", CALL_PATH, 0, NULL},
	{SYS_stat, "stat", CALL_PATH, 0, NULL},
	{SYS_lstat, "lstat", CALL_PATH, 0, NULL},
#endif
	{SYS_ioctl, "ioctl", CALL_IOCTL, 0, NULL},
	{SYS_futex, "futex", CALL_FUTEX, 0, NULL},
	{SYS_wait4, "wait4", CALL_CHILD, 0, NULL},
	{SYS_waitid, "waitid", CALL_CHILD, 1, NULL},
	{SYS_nanosleep, "nanosleep", CALL_TIMER, 0, NULL},
	{SYS_clock_nanosleep, "clock_nanosleep", CALL_TIMER, 2, NULL},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait", CALL_SIGNAL, 0, NULL},
	{SYS_rt_sigsuspend, "rt_sigsuspend", CALL_SIGNAL, 0, NULL},
	{SYS_openat, "openat", CALL_PATH, 1, NULL},
	{SYS_newfstatat, "newfstatat", CALL_PATH, 1, NULL},
	{SYS_statx, "statx", CALL_PATH, 1, NULL},
	{SYS_unlinkat, "unlinkat", CALL_PATH, 1, NULL},
	{SYS_execve, "execve", CALL_PATH, 0, NULL},
	{SYS_semop, "semop", CALL_OTHER, 0, NULL},
	{SYS_semtimedop, "semtimedop", CALL_OTHER, 0, NULL},
	{SYS_msgrcv, "msgrcv", CALL_OTHER, 0, NULL},
	{SYS_io_getevents, "io_getevents", CALL_OTHER, 0, NULL},
	{SYS_io_uring_enter, "io_uring_enter", CALL_OTHER, 0, NULL},
	{SYS_munmap, "munmap", CALL_OTHER, 0, NULL},
	{SYS_mmap, "mmap", CALL_OTHER, 0, NULL},
	{SYS_clone, "clone", CALL_OTHER, 0, NULL},
	{SYS_exit_group, "exit_group", CALL_OTHER, 0, NULL},
};

const char *wait_kind_name(enum wait_kind kind)
{
	static const char *const names[WAIT_KINDS] = {
		[WAIT_NONE] = "none",	    [WAIT_UNKNOWN] = "unknown", [WAIT_CALL] = "call",
		[WAIT_STOPPED] = "stopped", [WAIT_TRACED] = "traced",	[WAIT_FROZEN] = "frozen",
		[WAIT_FAULT] = "fault",	    [WAIT_GIL] = "gil",		[WAIT_LOCK] = "lock",
		[WAIT_IMPORT] = "import",   [WAIT_JOIN] = "join",	[WAIT_MUTEX] = "mutex",
		[WAIT_FUTEX] = "futex",	    [WAIT_FILE] = "file",	[WAIT_CHILD] = "child",
		[WAIT_TIMER] = "timer",	    [WAIT_SIGNAL] = "signal",	[WAIT_CUDA] = "cuda",
	};

	return names[kind];
}

/* ---- futexes ------------------------------------------------------------------------------------------------- */

static const struct dump_thread *thread_by_number(const struct looker *looker, uint32_t ns_tid)
{
	return find_item(looker->process->threads, looker->process->thread_count, item,
			 (uint32_t)item->ns_tid == ns_tid);
}

/* The process of a thread in gputrace's pid namespace, 0: there is no such thread. */
static pid_t group_of(pid_t tid)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	at = read_small_file(AT_FDCWD, path, text, sizeof(text)) ? strstr(text, "\nTgid:") : NULL;
	return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

static void set_mutex(struct looker *looker, struct dump_wait *wait, uint32_t owner)
{
	const struct dump_thread *thread = thread_by_number(looker, owner);

	wait->kind = WAIT_MUTEX;
	if (thread) {
		wait->owner_pid = looker->process->pid;
		wait->owner_tid = thread->tid;
		wait->text = arena_text(looker->arena, "waits for a mutex, which thread %d holds", (int)thread->tid);
	} else if (looker->process->threads[0].tid != looker->process->threads[0].ns_tid) {
		wait->text = arena_text(looker->arena,
					"waits for a mutex, which thread %u holds: it has ended, or is one of another "
					"process",
					owner);
	} else {
		wait->owner_pid = group_of((pid_t)owner);
		wait->owner_tid = wait->owner_pid ? (pid_t)owner : 0;
		wait->text =
			wait->owner_pid
				? arena_text(looker->arena, "waits for a mutex, which thread %u of process %d holds",
					     owner, (int)wait->owner_pid)
				: arena_text(
					  looker->arena,
					  "waits for a mutex, whose owner, thread %u, has ended without unlocking it",
					  owner);
	}
}

/* The checks rule out other locks, whose futex has other values: -1, or pointers. */
static bool is_robust_mutex(const uint32_t words[5])
{
	uint32_t kind = words[MUTEX_KIND_AT / 4], owner = words[0] & FUTEX_TID_MASK;

	return words[0] & FUTEX_WAITERS && owner && owner <= PID_MOST && kind <= MUTEX_KIND_MAX && kind & MUTEX_ROBUST;
}

/* A mutex of the C library, or the end of a thread (pthread_join); false: neither. */
static bool find_native(struct looker *looker, const struct dump_thread *thread, struct dump_wait *wait)
{
	int command = (int)thread->args[1] & FUTEX_CMD_MASK;
	uint32_t expected = (uint32_t)thread->args[2], words[5];
	const struct dump_thread *joined;

	if (!looker->has_memory || !memory_read(looker->process->pid, wait->address, words, sizeof(words)))
		return false;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		set_mutex(looker, wait, words[0] & FUTEX_TID_MASK);
		return true;
	}
	if (command == FUTEX_WAIT && expected == 2 && words[0] == 2 && words[MUTEX_OWNER_AT / 4] &&
	    words[MUTEX_KIND_AT / 4] <= MUTEX_KIND_MAX) {
		set_mutex(looker, wait, words[MUTEX_OWNER_AT / 4]);
		return true;
	}
	if (command == FUTEX_WAIT && is_robust_mutex(words) && words[0] == expected) {
		set_mutex(looker, wait, expected & FUTEX_TID_MASK);
		return true;
	}
	joined = expected && words[0] == expected ? thread_by_number(looker, expected) : NULL;
	if (!joined || joined == thread)
		return false;
	wait->kind = WAIT_JOIN;
	wait->owner_pid = looker->process->pid;
	wait->owner_tid = joined->tid;
	wait->text = arena_text(looker->arena, "waits for the end of thread %d", (int)joined->tid);
	return true;
}

static bool is_gil(const struct looker *looker, uint64_t futex)
{
	const struct gpt_pylayout *layout = &looker->python.info.walk.layout;
	uint64_t gil = looker->has_python ? looker->python.gil.address : 0;

	return gil && futex - gil >= layout->gil_cond && futex - gil < layout->gil_end;
}

static void set_gil(struct looker *looker, struct dump_wait *wait)
{
	wait->kind = WAIT_GIL;
	wait->owner_tid = looker->process->gil_holder;
	wait->owner_pid = wait->owner_tid ? looker->process->pid : 0;
	wait->text = wait->owner_tid		 ? arena_text(looker->arena, "waits for the GIL, which thread %d holds",
							      (int)wait->owner_tid)
		     : looker->python.gil.holder ? "waits for the GIL, which a thread holds that is not in this process"
						 : "waits for the GIL, which has just been given up";
}

static bool set_cuda(struct looker *looker, const struct dump_thread *thread, struct dump_wait *wait)
{
	const char *library,
		*function = looker->has_memory ? native_cuda_call(&looker->native, thread->sp, &library) : NULL;

	if (!function)
		return false;
	wait->kind = WAIT_CUDA;
	wait->text = arena_text(looker->arena, "waits in %s (%s)", function, library);
	return true;
}

static void set_futex(struct looker *looker, unsigned index, struct dump_wait *wait)
{
	const struct dump_thread *thread = &looker->process->threads[index];

	wait->address = thread->args[0];
	if (is_gil(looker, wait->address)) {
		set_gil(looker, wait);
		return;
	}
	if (find_native(looker, thread, wait) || set_cuda(looker, thread, wait))
		return;
	if (looker->has_python && thread->tstate && waits_find_python(looker, index, wait->address))
		return;
	wait->kind = WAIT_FUTEX;
	wait->text = "waits at a futex";
}

/* ---- the rest ------------------------------------------------------------------------------------------------ */

/* Says the time left for clock_nanosleep(TIMER_ABSTIME), else the time of the call. */
static void set_timer(struct looker *looker, const struct dump_thread *thread, const struct call_row *row,
		      struct dump_wait *wait)
{
	struct timespec until = {0};
	double seconds, left;

	wait->kind = WAIT_TIMER;
	wait->text = "sleeps";
	if (thread->polls) {
		wait->text = "wakes, and sleeps again at the same line";
		return;
	}
	if (!looker->has_memory || !memory_read(looker->process->pid, thread->args[row->arg], &until, sizeof(until)))
		return;
	seconds = (double)until.tv_sec + (double)until.tv_nsec / (double)SECOND_NS;
	left = seconds - (double)monotonic_ns() / (double)SECOND_NS;
	/* the thread may have returned, and the memory be reused */
	if (until.tv_sec < 0 || until.tv_sec > SLEEP_MOST_S || until.tv_nsec < 0 || until.tv_nsec >= (long)SECOND_NS)
		return;
	if (row->number != SYS_clock_nanosleep || !(thread->args[1] & TIMER_ABSTIME))
		wait->text = arena_text(looker->arena, "sleeps for %.1f s", seconds);
	else if (thread->args[0] == CLOCK_MONOTONIC)
		wait->text = arena_text(looker->arena, "sleeps, %.1f s are left", left > 0 ? left : 0);
}

static void set_path(struct looker *looker, const struct dump_thread *thread, const struct call_row *row,
		     struct dump_wait *wait)
{
	char path[256];
	size_t bytes = sizeof(path) - 1;

	wait->kind = WAIT_FILE;
	while (bytes &&
	       (!looker->has_memory || !memory_read(looker->process->pid, thread->args[row->arg], path, bytes)))
		bytes /= 2; /* the path may end close to the end of its page */
	path[bytes] = '\0';
	wait->text = arena_text(looker->arena, "waits in %s of %s", row->name, path);
}

static void set_ioctl(struct looker *looker, struct dump_thread *thread, struct dump_wait *wait)
{
	waits_add_file(looker, thread, (int)thread->args[0], false);
	if (!strncmp(wait->files[0].path, "/dev/nvidia", 11) && set_cuda(looker, thread, wait))
		return;
	wait->kind = WAIT_FILE;
	wait->text = arena_text(looker->arena, "waits in ioctl of fd %d: %s", wait->files[0].fd,
				waits_file_kind(&wait->files[0]));
}

static void set_call(struct looker *looker, unsigned index, const struct call_row *row)
{
	struct dump_thread *thread = &looker->process->threads[index];
	struct dump_wait *wait = &thread->wait;

	switch (row->kind) {
	case CALL_READ:
	case CALL_WRITE:
		waits_add_file(looker, thread, (int)thread->args[0], row->kind == CALL_WRITE);
		waits_say_files(looker, wait, row->name, row->verb);
		break;
	case CALL_POLL:
		if (set_cuda(looker, thread, wait))
			break;
		waits_add_polled(looker, thread);
		waits_say_files(looker, wait, row->name, row->verb);
		break;
	case CALL_SELECT:
		waits_add_selected(looker, thread);
		if (!wait->file_count) {
			wait->kind = WAIT_TIMER;
			wait->text = thread->polls ? "wakes, and sleeps again at the same line" : "sleeps";
		} else {
			waits_say_files(looker, wait, row->name, row->verb);
		}
		break;
	case CALL_EPOLL:
		waits_add_watched(looker, thread);
		waits_say_files(looker, wait, row->name, row->verb);
		break;
	case CALL_IOCTL:
		set_ioctl(looker, thread, wait);
		break;
	case CALL_FUTEX:
		set_futex(looker, index, wait);
		break;
	case CALL_CHILD:
		wait->kind = WAIT_CHILD;
		wait->address = thread->args[row->arg];
		wait->text = "waits for a child";
		break;
	case CALL_TIMER:
		if (!set_cuda(looker, thread, wait))
			set_timer(looker, thread, row, wait);
		break;
	case CALL_SIGNAL:
		wait->kind = WAIT_SIGNAL;
		wait->text = arena_text(looker->arena, "waits for a signal (%s)", row->name);
		break;
	case CALL_PATH:
		set_path(looker, thread, row, wait);
		break;
	case CALL_OTHER:
		wait->kind = WAIT_CALL;
		wait->text = arena_text(looker->arena, "waits in %s", row->name);
		break;
	}
}

static bool is_frozen(const struct looker *looker, const struct dump_thread *thread)
{
	return looker->process->frozen || !strcmp(thread->wchan, "do_freezer_trap") ||
	       !strcmp(thread->wchan, "__refrigerator");
}

/* Sets what holds the thread regardless of its system call; false: nothing does. */
static bool set_held(struct looker *looker, const struct dump_thread *thread, struct dump_wait *wait)
{
	if (thread->state == 'T') {
		wait->kind = WAIT_STOPPED;
		wait->text = arena_text(looker->arena, "is stopped by a signal (kill -CONT %d lets it go on)",
					(int)looker->process->pid);
	} else if (thread->state == 't') {
		wait->kind = WAIT_TRACED;
		wait->owner_pid = thread->tracer;
		wait->text = arena_text(looker->arena, "is stopped by its tracer, process %d", (int)thread->tracer);
	} else if (thread->state == 'Z' || thread->state == 'X') {
		wait->kind = WAIT_UNKNOWN;
		wait->text = "has ended";
	} else if (is_frozen(looker, thread)) {
		wait->kind = WAIT_FROZEN;
		wait->text = "is frozen by its cgroup (cgroup.freeze)";
	} else if (thread->wants_gil && !thread->holds_gil && !thread->moves) {
		set_gil(looker, wait); /* it may have just woken to ask for the GIL */
	} else if (thread->state == 'R') {
		wait->kind = WAIT_NONE;
		wait->text = "runs";
	} else {
		return false;
	}
	return true;
}

void waits_find(struct looker *looker, unsigned index)
{
	struct dump_thread *thread = &looker->process->threads[index];
	struct dump_wait *wait = &thread->wait;

	*wait = (struct dump_wait){.kind = WAIT_UNKNOWN, .text = "waits"};
	if (set_held(looker, thread, wait))
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && thread->in_call; i++)
		if (calls[i].number == thread->call)
			set_call(looker, index, &calls[i]);
	if (wait->kind == WAIT_UNKNOWN && thread->in_call && thread->call >= 0) {
		wait->kind = WAIT_CALL;
		wait->text = arena_text(looker->arena, "waits in system call %ld", thread->call);
	} else if (wait->kind == WAIT_UNKNOWN && thread->in_call) {
		wait->kind = WAIT_FAULT;
		wait->text = "waits for a page of its memory";
	}
	if (thread->state == 'D' || wait->kind == WAIT_UNKNOWN || wait->kind == WAIT_FAULT)
		wait->text = arena_text(looker->arena, "%s%s; in the kernel: %s", wait->text,
					thread->state == 'D' ? ", and no signal ends that" : "",
					*thread->wchan ? thread->wchan : "not known");
}
