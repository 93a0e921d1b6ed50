/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A child for as long as each one gets further than the one before; a page that they share says how far that is. */
#include "cmd/process/child_work.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/process/interrupt.h"

/* Written by the child; the parent reads it when the child has ended. */
struct child_shared {
	unsigned part;
	bool returned;
	int result;
	char name[4096];
};

bool child_work_begins(struct child_work *work, const char *name)
{
	struct child_shared *shared = work->shared;

	if (++work->part < work->first)
		return false;
	if (shared) {
		snprintf(shared->name, sizeof(shared->name), "%s", name);
		shared->part = work->part;
	}
	return true;
}

static void say_ended(const char *name, const char *what, int status)
{
	if (!WIFSIGNALED(status))
		msg_error("%s: %s: gputrace ended over it with status %d: the lines above say why", name, what,
			  WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGKILL)
		msg_error("%s: %s: gputrace was killed over it (SIGKILL), as the kernel does where memory runs out: "
			  "make it from the log where there is more",
			  name, what);
	else
		msg_error("%s: %s: gputrace crashed over it (signal %d, %s): report the crash, with the log", name,
			  what, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* fork(): a thread that enters a process may still run, but it shares nothing with this work, and glibc's fork resets
 * the locks of malloc and stdio (its manual, _Fork). */
static pid_t start_child(const struct child_job *job, struct child_work *work)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "gputrace-output");
	work->shared->result = job->run(work, job->context);
	work->shared->returned = true;
	exit(0);
}

/* Returns the status of the child, or -1: none was started. */
static int run_child(const struct child_job *job, struct child_work *work)
{
	pid_t child = start_child(job, work);
	int status = 0;

	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int child_work_run(const struct child_job *job, bool *all)
{
	struct child_shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child_work work = {.shared = shared, .first = 1};
	int result = -1, status;

	*all = true;
	if (shared == MAP_FAILED)
		return job->run(&(struct child_work){0}, job->context);
	for (;;) {
		status = run_child(job, &work);
		if (status < 0) {
			work.shared = NULL;
			result = job->run(&work, job->context);
			break;
		}
		if (shared->returned) {
			result = shared->result;
			break;
		}
		*all = false;
		job->clean(job->context);
		if (shared->part < work.first)
			say_ended(job->name, "not read", status);
		else
			say_ended(shared->name, "not made", status);
		if (shared->part < work.first || is_interrupted())
			break;
		work.first = shared->part + 1;
	}
	munmap(shared, sizeof(*shared));
	return result;
}
