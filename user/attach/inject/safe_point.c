/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that waits in one of a few system calls is not in the middle of malloc or of the loader, unless a signal
 * handler made the call, which its stack shows. A thread stopped anywhere else may be: of 25 single-threaded targets
 * stopped at random in a loop of malloc and free, 5 died of a corrupted heap.
 */
#include "attach/inject/safe_point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/stack.h"
#include "attach/inject/stop.h"

#define THREADS_LOOKED_AT 256u	     /* in a process with more, any of them may do */
#define STACK_LOOKED_AT (256u << 10) /* to find a signal handler's frame; Python's C frames take 0.5 KB each */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

/* Event loops wait for at most a second (uWSGI, libuv); for longer waits the next try looks again. */
#define FRESH_LOOKS 1200
/*
 * A system call with a time-out is restarted with its whole time-out after gputrace interrupts it. It is interrupted
 * only in the first millisecond, so its time-out fires at most this much too late.
 */
#define FRESH_PAUSE_NS 1000000L

/* ---- one call ------------------------------------------------------------------------------------- */

static bool waits_for_ever(const struct thread_call *call, unsigned timeout_argument)
{
	return (int)call->args[timeout_argument] < 0;
}

/*
 * Accepts a wait for an event, not for a lock: that may be an allocator's, taken while another of its locks is held.
 * Semaphores and the condition variables of glibc before 2.41 wait for a zero to change, later ones with a bit set; a
 * wait for the end of a thread has no FUTEX_PRIVATE_FLAG. Locks wait while they are 1, or 2 with other waiters.
 */
static struct safe_point point_of_futex(const struct thread_call *call)
{
	unsigned command = call->args[1] & FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)call->args[2];

	if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
		return (struct safe_point){0};
	if (command == FUTEX_WAIT ? value && call->args[1] & FUTEX_PRIVATE_FLAG : value == 1 || value == 2)
		return (struct safe_point){0};
	return (struct safe_point){5, SAFE_POINT_ALWAYS};
}

/* After a stop, these calls only go on by a new call, so their time-out starts over: signal(7). */
static struct safe_point point_of_epoll(const struct thread_call *call)
{
	bool pointer = call->number == SYS_epoll_pwait2;

	if (pointer ? call->args[3] == 0 : waits_for_ever(call, 3))
		return (struct safe_point){6, SAFE_POINT_ALWAYS};
	return (struct safe_point){2, SAFE_POINT_FRESH};
}

struct safe_point safe_point_of_call(const struct thread_call *call)
{
	static const struct {
		long number;
		struct safe_point point;
	} points[] = {
		{SYS_poll, {8, SAFE_POINT_ALWAYS}},
		{SYS_ppoll, {8, SAFE_POINT_ALWAYS}},
		{SYS_clock_nanosleep, {7, SAFE_POINT_ALWAYS}},
		{SYS_nanosleep, {7, SAFE_POINT_ALWAYS}},
		{SYS_select, {7, SAFE_POINT_ALWAYS}},
		{SYS_pselect6, {7, SAFE_POINT_ALWAYS}},
		{SYS_pause, {6, SAFE_POINT_ALWAYS}},
		{SYS_wait4, {6, SAFE_POINT_ALWAYS}},
		{SYS_waitid, {6, SAFE_POINT_ALWAYS}},
		{SYS_read, {4, SAFE_POINT_SOCKET}},
		{SYS_recvfrom, {3, SAFE_POINT_SOCKET}},
		{SYS_recvmsg, {3, SAFE_POINT_SOCKET}},
		{SYS_accept, {3, SAFE_POINT_SOCKET}},
		{SYS_accept4, {3, SAFE_POINT_SOCKET}},
		/* The original call's number is in the code before it: read once the thread is stopped. */
		{SYSCALL_RESTARTED, {1, SAFE_POINT_ALWAYS}},
	};

	if (call->number == SYS_futex)
		return point_of_futex(call);
	if (call->number == SYS_epoll_wait || call->number == SYS_epoll_pwait || call->number == SYS_epoll_pwait2)
		return point_of_epoll(call);
	return value_of_first(sizeof(points) / sizeof(points[0]), i, points[i].number == call->number, points[i].point,
			      (struct safe_point){0});
}

/* ---- one thread ------------------------------------------------------------------------------------ */

/*
 * In a signal frame of the kernel the return address is followed by a ucontext, with the code segment 0x33 at byte 192.
 * The address alone may be left over from a call of sigaction().
 */
static bool is_signal_frame(const uint64_t *words, size_t count)
{
	return count <= 24 || (words[24] & 0xffff) == 0x33;
}

/* Before a fork, handlers take the locks of allocators and libraries, and may wait for anything. */
static bool is_in_fork(const struct entered_process *process, uint64_t word)
{
	return word > process->fork && word < process->fork_end;
}

/*
 * A signal handler may have interrupted anything: its return address is on the stack. So is an address in fork() for
 * the handlers that it calls.
 */
static bool in_signal_handler(const struct entered_process *process, const struct safe_thread *thread, uint64_t sp)
{
	const struct mapping *stack = mappings_at(process->mappings, sp);
	uint64_t end = thread->descriptor == STACK_OF_PROCESS ? stack->end : thread->descriptor;
	uint64_t bytes = end - sp < STACK_LOOKED_AT ? end - sp : STACK_LOOKED_AT;
	uint64_t *words = malloc(bytes);
	bool found = true; /* an unreadable stack is not safe */

	if (!words)
		return true;
	if (!process_read_memory(process->pid, sp & ~7ULL, words, bytes & ~7ULL)) {
		found = false;
		for (size_t i = 0; i < bytes / 8 && !found; i++)
			found = is_in_fork(process, words[i]) ||
				(words[i] == process->restorer && is_signal_frame(words + i, bytes / 8 - i));
	}
	free(words);
	return found;
}

/* fs_base: the stopped thread's, else 0. */
static bool stack_is_usable(const struct entered_process *process, struct safe_thread *thread, uint64_t sp,
			    uint64_t fs_base, const char **why)
{
	uint64_t room;

	thread->descriptor = stack_find(process->pid, thread->tid, process->mappings, sp, fs_base, &room);
	if (!thread->descriptor)
		*why = "its threads wait on stacks that are not known to be their own (fibers, goroutines)";
	else if (room < STACK_WANTED)
		*why = "no thread with enough stack is blocked";
	return thread->descriptor && room >= STACK_WANTED;
}

/* A time-out of the socket (SO_RCVTIMEO) would start over, and the call does not show it. */
static bool socket_has_timeout(pid_t pid, int number)
{
	struct timeval timeout = {1, 0};
	socklen_t size = sizeof(timeout);
	char path[64], link[64];
	pid_t thread = process_thread(pid);
	int process, fd = -1;
	ssize_t got;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", thread, number);
	got = readlink(path, link, sizeof(link) - 1);
	if (got <= 0)
		return true;
	link[got] = 0;
	if (strncmp(link, "socket:", 7))
		return strncmp(link, "pipe:", 5) && link[0] != '/'; /* io_uring, perf and the like are not known */
	process = (int)syscall(SYS_pidfd_open, thread, thread == pid ? 0 : PIDFD_THREAD);
	if (process >= 0)
		fd = (int)syscall(SYS_pidfd_getfd, process, number, 0); /* Linux 5.6 */
	has = fd < 0 || getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &size) || timeout.tv_sec || timeout.tv_usec;
	if (fd >= 0)
		close(fd);
	if (process >= 0)
		close(process);
	return has;
}

/* ---- the choice ----------------------------------------------------------------------------------- */

struct candidate {
	struct safe_thread thread;
	struct safe_point point;
};

/* Sets rank 0 if the thread may not be borrowed; why says the reason. */
static void look_at_thread(const struct entered_process *process, pid_t tid, struct candidate *out, const char **why)
{
	struct safe_thread *thread = &out->thread;

	out->point.rank = 0;
	thread->tid = tid;
	if (thread_status_read(process->pid, tid, &thread->status) || thread->status.state != 'S' ||
	    thread_call_read(process->pid, tid, &thread->call))
		return;
	out->point = safe_point_of_call(&thread->call);
	if (!out->point.rank)
		return;
	if (!stack_is_usable(process, thread, thread->call.sp, 0, why)) {
		out->point.rank = 0;
	} else if (thread->call.number == SYS_futex &&
		   thread_code_in_runtime(process->mappings, thread->call.args[0])) {
		*why = "a thread waits for the allocator or the loader";
		out->point.rank = 0;
	} else if (thread_code_sleeps_in_allocator(process, &thread->call)) {
		*why = "a thread sleeps in a library that has an allocator";
		out->point.rank = 0;
	} else if (thread->status.shadow_stack) {
		*why = "its threads have shadow stacks";
		out->point.rank = 0;
	} else if (out->point.condition == SAFE_POINT_SOCKET &&
		   socket_has_timeout(process->pid, (int)thread->call.args[0])) {
		*why = "its threads wait with time-outs that could not be taken up again";
		out->point.rank = 0;
	} else if (in_signal_handler(process, thread, thread->call.sp)) {
		*why = "a signal handler runs, or a fork";
		out->point.rank = 0;
	}
}

/*
 * Waits for the thread to start such a call, so that its restarted time-out is late by at most a pause: the previous
 * look did not find it there.
 */
static bool wait_fresh(const struct entered_process *process, struct safe_thread *thread, const char **why)
{
	struct timespec pause = {.tv_nsec = FRESH_PAUSE_NS};
	uint64_t switches = thread->status.switches;

	for (int i = 0; i < FRESH_LOOKS && !stop_hurries(); i++) {
		struct candidate candidate;

		nanosleep(&pause, NULL);
		if (thread_status_read(process->pid, thread->tid, &thread->status))
			return false;
		if (thread->status.switches == switches || thread->status.state != 'S')
			continue;
		look_at_thread(process, thread->tid, &candidate, why);
		if (candidate.point.rank) {
			*thread = candidate.thread;
			return true;
		}
	}
	return false;
}

int safe_point_choose(const struct entered_process *process, struct safe_thread *out, const char **why)
{
	struct candidate best = {.point.rank = 0};
	struct dirent *entry;
	unsigned looked_at = 0;
	char path[64];
	DIR *tasks;

	*why = "no thread of it is blocked in a harmless system call";
	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(tasks)) && looked_at < THREADS_LOOKED_AT) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct candidate candidate;

		if (tid <= 0)
			continue;
		looked_at++;
		look_at_thread(process, tid, &candidate, why);
		if (candidate.point.rank > best.point.rank)
			best = candidate;
	}
	closedir(tasks);
	if (!best.point.rank)
		return -EAGAIN;
	*out = best.thread;
	if (best.point.condition == SAFE_POINT_FRESH && !wait_fresh(process, out, why)) {
		*why = "its threads wait with time-outs that could not be taken up again";
		return -EAGAIN;
	}
	return 0;
}

/* ---- a process that never waits ------------------------------------------------------------------------ */

int safe_point_choose_running(const struct entered_process *process, struct safe_thread *out)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	out->tid = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!out->tid && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !thread_status_read(process->pid, tid, &out->status) && out->status.state == 'R' &&
		    !out->status.shadow_stack)
			out->tid = tid;
	}
	closedir(tasks);
	out->call = (struct thread_call){.number = SYSCALL_RUNNING};
	return out->tid ? 0 : -EAGAIN;
}

bool safe_point_of_stop(const struct entered_process *process, struct safe_thread *thread, uint64_t pc, uint64_t sp,
			uint64_t fs_base)
{
	const char *why;

	return thread_code_is_safe(process, pc) && stack_is_usable(process, thread, sp, fs_base, &why) &&
	       !in_signal_handler(process, thread, sp);
}
