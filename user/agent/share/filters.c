/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/share.h>

#include "agent/process/fork_gate.h"

/* Linux 5.3 and 5.9, the same numbers on all machines; include/uapi/linux/sched.h, close_range.h */
#define SYS_CLONE3 435
#define SYS_CLOSE_RANGE 436

#define TRIAL_NS 500000000u /* a child that was killed does not say so */
#define TRIAL_PAUSE_NS 1000000u

#define STATUS_MAX 4096

/* proc(5): the number of a thread's filters; before Linux 5.9 only whether it has some. 0: none, or not known. */
static unsigned long count_filters(const char *path)
{
	static const char *const names[] = {"\nSeccomp_filters:", "\nSeccomp:"};
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char text[STATUS_MAX] = "";
	const char *line = NULL;
	unsigned i;

	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(file);
	for (i = 0; i < 2 && !line; i++)
		line = strstr(text, names[i]);
	return line ? strtoul(line + strlen(names[i - 1]), NULL, 10) : 0;
}

static bool were_added(void)
{
	const char *before = secure_getenv(GPUTRACE_FILTERS);
	unsigned long own;

	if (prctl(PR_GET_SECCOMP) <= 0)
		return false;
	own = count_filters("/proc/thread-self/status");
	return !own || (own > (before ? strtoul(before, NULL, 10) : 0) && own > count_filters("/proc/1/status"));
}

/* ---- the trial -------------------------------------------------------------------------------------------------- */

/*
 * What joining takes, and what follows while there is a filter (own_memory.c, system_calls.txt); then what waiting
 * takes besides. With these first arguments, and else zeros, no call does anything.
 */
static const struct {
	long number, first;
} calls[] = {
	{SYS_wait4, -1},
	{SYS_socket, -1},
	{SYS_setsockopt, -1},
	{SYS_getsockopt, -1},
	{SYS_connect, -1},
	{SYS_sendto, -1},
	{SYS_recvmsg, -1},
	{SYS_openat, -1},
	{SYS_read, -1},
	{SYS_pread64, -1},
	{SYS_lseek, -1},
	{SYS_close, -1},
	{SYS_mmap, 0},
	{SYS_munmap, 1},
	{SYS_madvise, 1},
	{SYS_geteuid, 0},
	{SYS_gettid, 0},
	{SYS_getpid, 0},
	{SYS_futex, 0},
	{SYS_nanosleep, 0},
	{SYS_clock_nanosleep, 0},
	{SYS_rt_sigprocmask, ~0},
	{SYS_prctl, PR_GET_SECCOMP},
	{SYS_prctl, PR_GET_NO_NEW_PRIVS},
	{SYS_bind, -1},
	{SYS_listen, -1},
	{SYS_accept4, -1},
	{SYS_CLOSE_RANGE, -1},
};

#define WAIT_CALLS 4u /* the last of them */

static void __attribute__((noreturn)) make_calls(unsigned count, _Atomic uint32_t *survived)
{
	prctl(PR_SET_DUMPABLE, 0); /* a child that is killed leaves no core */
	for (unsigned i = 0; i < count; i++) {
		syscall(calls[i].number, calls[i].first, 0l, 0l, 0l, 0l, 0l);
		atomic_store(survived, i + 1);
	}
	for (;;)
		syscall(SYS_exit, 0);
}

/*
 * A fork without the handlers of fork(3), by the call that starts threads, which CUDA needs, too. No signal comes at
 * its end, and the program's wait(2) does not see it.
 */
static long start_child(void)
{
	uint64_t arguments[8] = {0}; /* struct clone_args */
	long child = syscall(SYS_CLONE3, arguments, sizeof(arguments));

	return child < 0 && errno == ENOSYS ? syscall(SYS_clone, 0l, 0l, 0l, 0l, 0l) : child;
}

/* The entry of a child that was killed for wait4(2), the first call, stays among processes: nobody may wait for it. */
static bool try_calls(unsigned count)
{
	static _Atomic uint32_t never;
	_Atomic uint32_t *survived =
		mmap(NULL, sizeof(*survived), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool lives;
	long child;

	if (survived == MAP_FAILED)
		return false;
	child = start_child();
	if (!child)
		make_calls(count, survived);
	for (uint64_t ns = 0; child > 0 && ns < TRIAL_NS && atomic_load(survived) < count; ns += TRIAL_PAUSE_NS)
		futex_wait(&never, 0, TRIAL_PAUSE_NS);
	lives = atomic_load(survived) == count;
	if (atomic_load(survived))
		syscall(SYS_wait4, child, NULL, (long)(lives ? __WALL : __WALL | WNOHANG), NULL);
	munmap((void *)survived, sizeof(*survived));
	return lives;
}

bool filters_kill(bool waits)
{
	return were_added() && !try_calls(sizeof(calls) / sizeof(calls[0]) - (waits ? 0 : WAIT_CALLS));
}
