/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that do not stop when they are asked to: each runs on as soon as it has stopped, whatever else is awaited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/stop.h"
#include "process_state.h"

/* A process in vfork(2), which no stop interrupts, until a byte is written to `release`. */
struct deaf {
	pid_t pid;
	int release;
	atomic_int stopped; /* the result of stop_thread; 1: it still waits */
	pthread_t tracer;
};

static void __attribute__((noreturn)) be_deaf(int wait)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!vfork()) { /* NOLINT: it is what this test is about */
		char byte;

		while (read(wait, &byte, 1) < 0)
			;
		_exit(0);
	}
	_exit(7);
}

static void *stop_it(void *context)
{
	struct deaf *deaf = context;
	const struct stopped thread = {.pid = deaf->pid, .tid = deaf->pid};

	deaf->stopped = stop_thread(&thread);
	if (deaf->stopped == -ETIMEDOUT)
		stop_wait_late(&thread);
	return NULL;
}

static void begin_deaf(struct deaf *deaf)
{
	int ends[2];

	deaf->stopped = 1;
	assert_int_equal(pipe(ends), 0);
	deaf->pid = fork();
	if (!deaf->pid) {
		close(ends[1]);
		be_deaf(ends[0]);
	}
	close(ends[0]);
	deaf->release = ends[1];
	while (state_of(deaf->pid) != 'D') {
		assert_int_not_equal(state_of(deaf->pid), 'Z');
		pause_a_little();
	}
	assert_int_equal(pthread_create(&deaf->tracer, NULL, stop_it, deaf), 0);
}

static void wait_given_up(const struct deaf *deaf)
{
	while (deaf->stopped == 1)
		pause_a_little();
	assert_int_equal(deaf->stopped, -ETIMEDOUT);
}

/* The thread stops at the end of the vfork, and then runs to its own end. */
static void end_deaf(struct deaf *deaf)
{
	int status;

	assert_int_equal(write(deaf->release, "", 1), 1);
	pthread_join(deaf->tracer, NULL);
	assert_int_equal(waitpid(deaf->pid, &status, __WALL), deaf->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	close(deaf->release);
}

static void one_goes_on_although_another_has_not_stopped_yet(void **state)
{
	struct deaf first = {0}, second = {0};

	stop_hurry(); /* 0.1 s instead of 10 */
	begin_deaf(&first);
	begin_deaf(&second);
	wait_given_up(&first);
	wait_given_up(&second);
	end_deaf(&second);
	assert_int_equal(state_of(first.pid), 'D');
	end_deaf(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_goes_on_although_another_has_not_stopped_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
