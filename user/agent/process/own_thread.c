/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/fork_gate.h"
#include "agent/process/old_glibc.h"

/* Linux 5.9, the same number on all machines; include/uapi/linux/close_range.h */
#define SYS_CLOSE_RANGE 436
#define UNSHARE_TABLE 2u

#define JOB_WAIT_NS 1000000000u

struct beginning {
	void (*run)(void);
	_Atomic uint32_t begun; /* futex */
};

static void *thread_main(void *own)
{
	struct beginning *beginning = own;
	void (*run)(void) = beginning->run;

	futex_set(&beginning->begun);
	fork_gate_open();
	fork_gate_enter();
	run();
	fork_gate_leave();
	return NULL;
}

static bool start_thread(void *(*run)(void *), void *context)
{
	sigset_t all, before;
	pthread_t id;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&id, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return false;
	pthread_detach(id);
	return true;
}

bool own_thread_start(void (*run)(void))
{
	struct beginning beginning = {.run = run};

	if (!start_thread(thread_main, &beginning))
		return false;
	while (!atomic_load(&beginning.begun))
		futex_wait(&beginning.begun, 0, JOB_WAIT_NS);
	return true;
}

bool own_table_begin(void)
{
	return !syscall(SYS_CLOSE_RANGE, 0u, ~0u, UNSHARE_TABLE);
}

struct job {
	void (*run)(void *);
	void *context;
	_Atomic uint32_t done; /* futex */
};

static void *run_job(void *own)
{
	struct job *job = own;

	own_table_begin();
	job->run(job->context);
	futex_set(&job->done);
	return NULL;
}

/* The program's handlers, which may use the same lock as `run`, wait. */
static void run_here(void (*run)(void *context), void *context)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	run(context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void own_table_run(void (*run)(void *context), void *context)
{
	struct job job = {.run = run, .context = context};

	if (prctl(PR_GET_SECCOMP)) { /* a filter may kill the caller of close_range(2), or of clone3(2) */
		run_here(run, context);
		return;
	}
	if (!start_thread(run_job, &job)) {
		run(context);
		return;
	}
	while (!atomic_load(&job.done))
		futex_wait(&job.done, 0, JOB_WAIT_NS);
}

/* glibc's stack size: RLIMIT_STACK, or this if that is unlimited. */
#define STACK_BYTES (2ul << 20)

const char *own_thread_why_not(void)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	size_t bytes = STACK_BYTES;
	void *stack;

	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_cur != RLIM_INFINITY)
		bytes = limit.rlim_cur;
	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED)
		return "no thread: its stack has no room in the address space, RLIMIT_AS (ulimit -v)";
	munmap(stack, bytes);
	return "no thread: there are too many, RLIMIT_NPROC (ulimit -u) or pids.max of its cgroup";
}
