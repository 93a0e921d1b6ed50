/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guard process. */
#include "attach/load/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEATH_SIGNAL SIGUSR1
#define NO_CALL (-1L)
#define CLOSE_CALL (-2L) /* no system call: closes descriptors; arguments: their address, their number */
#define CLOSERS_MOST 32u

static pid_t the_guard; /* 0: none */

/* ---- calls on behalf of gputrace ------------------------------------------------------------------------------------
 */

/* Shared by both processes. */
static struct call {
	_Atomic uint32_t asked, answered; /* futexes */
	_Atomic long number;
	long arguments[GUARD_ARGUMENTS], result;
	size_t used;
	_Alignas(8) char memory[GUARD_MEMORY];
} * call;

static bool share_call(void)
{
	void *shared;

	if (call)
		return true;
	shared = mmap(NULL, sizeof(*call), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	call = shared;
	call->number = NO_CALL;
	return true;
}

static void wait_while(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, most, NULL, 0);
}

static void wake_waiter(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void close_one_by_one(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/*
 * Closes each descriptor in a process of its own with the same descriptor table, so that a slow one does not delay the
 * others.
 */
static void close_at_once(const int *fds, size_t count)
{
	pid_t closers[CLOSERS_MOST];

	for (size_t i = 0; i < count; i++) {
		closers[i] = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
		if (closers[i] <= 0)
			close(fds[i]);
		if (!closers[i])
			_exit(0);
	}
	for (size_t i = 0; i < count; i++)
		while (closers[i] > 0 && waitpid(closers[i], NULL, 0) < 0 && errno == EINTR)
			;
}

/* Lists open descriptors, at most `most`; returns how many. */
static size_t open_fds(int fds[], size_t most)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	size_t count = 0;

	while (folder && count < most && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
			fds[count++] = atoi(entry->d_name);
	if (folder)
		closedir(folder);
	return count;
}

/* Closes everything fast: traced processes pay for probes until they are gone. */
static void close_all(void)
{
	int fds[CLOSERS_MOST];
	size_t count;

	while ((count = open_fds(fds, CLOSERS_MOST)))
		close_at_once(fds, count);
	/* Descriptors that could not be listed. close_range: Linux 5.9 */
	syscall(SYS_close_range, 0, ~0U, 0);
}

static long make_call(long number, const long arguments[GUARD_ARGUMENTS])
{
	long result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);

	return result < 0 ? -errno : result;
}

/* Makes a call in the guard, CLOSE_CALL included. */
static long serve_call(long number, const long arguments[GUARD_ARGUMENTS])
{
	const int *fds = (const int *)arguments[0];
	size_t count = (size_t)arguments[1];

	if (number != CLOSE_CALL)
		return make_call(number, arguments);
	for (size_t i = 0; i < count; i += CLOSERS_MOST)
		close_at_once(fds + i, count - i < CLOSERS_MOST ? count - i : CLOSERS_MOST);
	return 0;
}

static void wake_guard(int unused)
{
	atomic_fetch_add(&call->asked, 1);
}

/* Makes the requested calls until the parent is dead. */
static void serve_calls(pid_t parent)
{
	struct sigaction action = {.sa_handler = wake_guard};
	sigset_t signals;
	uint32_t asked;

	sigaction(DEATH_SIGNAL, &action, NULL);
	sigfillset(&signals);
	sigdelset(&signals, DEATH_SIGNAL);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	/* sent when the parent has closed everything that it does not share */
	prctl(PR_SET_PDEATHSIG, DEATH_SIGNAL);
	for (;;) {
		asked = atomic_load(&call->asked);
		if (call->number != NO_CALL) {
			call->result = serve_call(call->number, call->arguments);
			call->number = NO_CALL;
			atomic_fetch_add(&call->answered, 1);
			wake_waiter(&call->answered);
		}
		if (getppid() != parent)
			return;
		wait_while(&call->asked, asked, NULL);
	}
}

static bool guard_lives(void)
{
	return the_guard && !waitpid(the_guard, NULL, WNOHANG);
}

void *guard_memory(size_t bytes)
{
	void *memory;

	if (!share_call() || bytes > sizeof(call->memory) - call->used)
		return NULL;
	memory = call->memory + call->used;
	call->used += (bytes + 7) & ~(size_t)7;
	return memory;
}

long guard_call(long number, const long arguments[GUARD_ARGUMENTS])
{
	static const struct timespec look_again = {.tv_nsec = 100000000};
	uint32_t answered;

	call->used = 0;
	if (!guard_lives())
		return make_call(number, arguments);
	answered = atomic_load(&call->answered);
	memcpy(call->arguments, arguments, sizeof(call->arguments));
	call->number = number;
	atomic_fetch_add(&call->asked, 1);
	wake_waiter(&call->asked);
	while (atomic_load(&call->answered) == answered) {
		wait_while(&call->answered, answered, &look_again);
		if (atomic_load(&call->answered) == answered && !guard_lives())
			return -ESRCH;
	}
	return call->result;
}

void guard_close(const int *fds, size_t count)
{
	const size_t most = GUARD_MEMORY / 2 / sizeof(*fds);
	int *shared;

	for (size_t at = 0, part; at < count; at += part) {
		part = count - at < most ? count - at : most;
		shared = guard_lives() ? guard_memory(part * sizeof(*fds)) : NULL;
		if (!shared) {
			close_one_by_one(fds + at, part);
			continue;
		}
		memcpy(shared, fds + at, part * sizeof(*fds));
		guard_call(CLOSE_CALL, (const long[GUARD_ARGUMENTS]){(long)shared, (long)part});
	}
}

/* ---- lifetime ------------------------------------------------------------------------------------------------------
 */

static void __attribute__((noreturn)) guard_main(pid_t parent)
{
	prctl(PR_SET_NAME, "gputrace-guard");
	setsid(); /* Ctrl-C must not reach the guard */
	serve_calls(parent);
	close_all();
	_exit(0);
}

int guard_start(void)
{
	pid_t parent = getpid(), pid;

	if (!share_call())
		return -errno;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	if (!pid)
		guard_main(parent);
	the_guard = pid < 0 ? 0 : pid;
	return pid < 0 ? -errno : 0;
}

void guard_stop(void)
{
	if (guard_lives()) {
		kill(the_guard, SIGKILL);
		waitpid(the_guard, NULL, 0);
	}
	the_guard = 0;
}
