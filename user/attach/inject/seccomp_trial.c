/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's system calls, made by a child of gputrace, which has gputrace's filters. In a container the filters of
 * all processes are the runtime's. A process inherits filters and can only add some, so one that has as many as
 * gputrace has the same, if both come from the same container.
 */
#include "attach/inject/seccomp_trial.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/seccomp_calls.h"
#include "target/process.h"

#define CGROUP_MAX 4096
#define CLOSED 3	 /* the descriptor of the calls in the table */
#define TRIAL_LOOKS 2000 /* 1 ms each: a filter may have a supervisor that does not answer */
#define TRIAL_PAUSE_NS 1000000L

static pthread_once_t tried = PTHREAD_ONCE_INIT;
static bool survived;

/* ---- the trial -------------------------------------------------------------------------------------------------- */

static void ignore_signal(int number)
{
}

/*
 * All arguments are such that a call which passes the filter does nothing: bad addresses, a closed descriptor. The two
 * calls that would not return are made by a handler's end, and by the child's.
 */
static void __attribute__((noreturn)) make_calls(void)
{
	struct sigaction action = {.sa_handler = ignore_signal};

	(void)prctl(PR_SET_DUMPABLE, 0); /* a child that is killed leaves no core */
	(void)close(CLOSED);
	for (size_t i = 0; i < SECCOMP_CALLS + SECCOMP_JOIN_CALLS; i++) {
		const struct seccomp_call *call = &seccomp_calls[i];

		if (call->number != SYS_rt_sigreturn && call->number != SYS_exit)
			(void)syscall(call->number, call->args[0], call->args[1], call->args[2], call->args[3],
				      call->args[4]);
	}
	if (!sigaction(SIGURG, &action, NULL))
		(void)raise(SIGURG);
	for (;;)
		(void)syscall(SYS_exit, 0);
}

static void try_once(void)
{
	const struct timespec pause = {.tv_nsec = TRIAL_PAUSE_NS};
	pid_t child = fork(), ended = 0;
	int status = -1;

	if (!child)
		make_calls();
	for (int i = 0; child > 0 && !ended && i < TRIAL_LOOKS; i++) {
		ended = waitpid(child, &status, WNOHANG);
		if (!ended)
			nanosleep(&pause, NULL);
	}
	if (child > 0 && !ended) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	survived = ended == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool read_own(struct thread_status *out)
{
	return !thread_status_read(getpid(), (pid_t)syscall(SYS_gettid), out);
}

bool seccomp_may_read(void)
{
	struct process_owner of;
	struct thread_status own;

	return read_own(&own) && !own.seccomp && !process_owner(getpid(), &of) && of.effective >> CAP_SYS_ADMIN & 1 &&
	       process_in_initial_user_namespace();
}

void seccomp_prepare(void)
{
	struct thread_status own;

	if (read_own(&own) && own.seccomp)
		pthread_once(&tried, try_once);
}

/* ---- whose filters they are ------------------------------------------------------------------------------------- */

static bool same_mounts(pid_t pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)process_thread(pid));
	return !stat("/proc/self/ns/mnt", &own) && !stat(path, &its) && own.st_ino == its.st_ino &&
	       own.st_dev == its.st_dev;
}

static bool same_cgroup(pid_t pid)
{
	char *own = NULL, *its = NULL;
	ssize_t bytes = process_read_text(getpid(), "cgroup", 0, CGROUP_MAX, &own);
	bool same = process_read_text(pid, "cgroup", 0, CGROUP_MAX, &its) == bytes && bytes > 0 && !strcmp(own, its);

	free(own);
	free(its);
	return same;
}

/* A process that can neither get CAP_SYS_ADMIN nor has given up new privileges adds none: a runtime made them. */
static bool made_by_runtime(const struct thread_status *status)
{
	return !status->no_new_privs && !(status->bounding >> CAP_SYS_ADMIN & 1);
}

int seccomp_try(pid_t pid, const struct thread_status *status)
{
	struct thread_status own;

	if (!read_own(&own) || !own.filters || own.filters != status->filters)
		return -EACCES;
	if (!same_mounts(pid) && !same_cgroup(pid) && !(made_by_runtime(status) && made_by_runtime(&own)))
		return -EACCES;
	seccomp_prepare();
	return survived ? 0 : -ENOTSUP;
}
