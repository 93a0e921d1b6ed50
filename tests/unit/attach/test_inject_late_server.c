/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parents of the agent file server that do not answer: which are asked again, and for how long they keep who asks.  The
 * parent is this program, by another name: the name of the target, which is the process that asks, says what it does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject/file_server.h"
#include "attach/inject/stop.h"
#include "attach/inject/read_only.h"
#include "process_state.h"

static int file; /* what is served */

static void wait_for_nothing(void)
{
	for (;;)
		pause();
}

/* It is ready to run, and gets nowhere: as beside programs of a higher priority. */
static void be_starved(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void be_dead(void)
{
	_exit(3);
}

/* The zombie of a traced process is not its parent's before its tracer, which waits for the target's end, is gone. */
static void be_undying(void)
{
	struct pollfd target = {.fd = (int)syscall(SYS_pidfd_open, getppid(), 0), .events = POLLIN};
	pid_t self = getpid();

	if (!fork()) {
		if (ptrace(PTRACE_SEIZE, self, NULL, NULL))
			kill(self, SIGKILL);
		poll(&target, 1, -1);
		_exit(0);
	}
	wait_for_nothing();
}

/* It waits for its child, as a parent does for the file server. */
static void have_a_starved_child(void)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_starved();
	}
	wait_for_nothing();
}

static const struct {
	const char *target;
	void (*behave)(void);
} parents[] = {
	{"of-silent", wait_for_nothing},
	{"of-late", be_starved},
	{"of-dead", be_dead},
	{"of-undying", be_undying},
	{"of-late-child", have_a_starved_child},
};

/* Returns only if the target has no such name. */
static int behave_as_parent_of(const char *target)
{
	char text[2048], name[16] = "";

	sscanf(proc_text((pid_t)strtol(target, NULL, 10), "comm", text), "%15[^\n]", name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
		if (!strcmp(name, parents[i].target))
			parents[i].behave();
	return 2;
}

/* Asks from a process of that name; it hurries, and so waits for less long.  A wait without an end is cut off. */
static void assert_unanswered(const char *target, int error, const char *why)
{
	int pipe[2], status;
	char said[192] = "";
	struct file_server file_server;
	pid_t child;

	if (geteuid())
		skip(); /* serving a file needs root */
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		int result;

		alarm(60);
		prctl(PR_SET_NAME, target);
		stop_hurry();
		do /* beside other programs any of them may get no processor */
			result = file_server_start(&file_server, getpid(), file, said, sizeof(said));
		while (result == -EAGAIN && error != -EAGAIN);
		(void)!write(pipe[1], said, sizeof(said));
		_exit(-result);
	}
	close(pipe[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), -error);
	assert_int_equal(read(pipe[0], said, sizeof(said)), sizeof(said));
	assert_string_equal(said, why);
	close(pipe[0]);
}

#define SERVES_IT "the process that serves it the agent's file "

/* It may get one later: the process is not given up, but tried again. */
static void one_that_gets_no_processor_is_no_reason_to_give_up(void **state)
{
	assert_unanswered("of-late", -EAGAIN, SERVES_IT "gets no processor");
	assert_unanswered("of-late-child", -EAGAIN, SERVES_IT "gets no processor");
}

/* Each further try would keep one of the places for processes that are being entered. */
static void one_that_something_else_keeps_is_not_tried_again(void **state)
{
	assert_unanswered("of-silent", -ETIMEDOUT,
			  SERVES_IT "does not answer: its root may be on a file system that hangs");
}

static void one_that_has_died_is_an_error(void **state)
{
	assert_unanswered("of-dead", -EPIPE, SERVES_IT "ended before it answered");
}

/* As one whose look-up in a root never ends, even by SIGKILL. */
static void one_that_cannot_be_ended_is_left(void **state)
{
	assert_unanswered("of-undying", -ETIMEDOUT,
			  SERVES_IT "does not answer: its root may be on a file system that hangs");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_gets_no_processor_is_no_reason_to_give_up),
		cmocka_unit_test(one_that_something_else_keeps_is_not_tried_again),
		cmocka_unit_test(one_that_has_died_is_an_error),
		cmocka_unit_test(one_that_cannot_be_ended_is_left),
	};
	char served[] = "/tmp/gputrace-served-XXXXXX";
	int failed, fd;

	if (argc == 2 && !strcmp(argv[0], INJECT_FILE_SERVER))
		return behave_as_parent_of(argv[1]);
	fd = mkstemp(served);
	(void)fchmod(fd, 0644);
	file = read_only_open(served);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(served);
	close(file);
	close(fd);
	return failed;
}
