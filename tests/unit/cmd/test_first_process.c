/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace as a container's first process: with which status it ends, and that it stays with the command. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/record/first_process.h"
#include "process_state.h"

#define COMMAND_STATUS 40
#define OWN_STATUS 125

/* Ends after its parent has. */
static void __attribute__((noreturn)) outlive(pid_t parent)
{
	while (getppid() == parent)
		pause_a_little();
	_exit(COMMAND_STATUS);
}

static void __attribute__((noreturn)) fail_before_the_command(void)
{
	pid_t own = getpid(), command = fork();

	if (!command)
		outlive(own);
	first_process_set_command(command);
	_exit(OWN_STATUS);
}

static void __attribute__((noreturn)) fail_after_the_command(void)
{
	pid_t command = fork();

	if (!command)
		_exit(COMMAND_STATUS);
	first_process_set_command(command);
	if (waitpid(command, NULL, 0) != command)
		_exit(1);
	_exit(OWN_STATUS);
}

/* The exit status of a process with pid 1 that is gputrace's first one; trace: what the other one does. */
static int status_of_first(void (*trace)(void))
{
	pid_t outer = fork(), first;
	int status = 0;

	if (!outer) {
		first = unshare(CLONE_NEWPID) ? -1 : fork();
		if (!first) {
			first_process_split();
			trace();
		}
		_exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(outer, &status, 0), outer);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("needs root: a pid namespace\n");
	skip();
}

static void it_stays_with_the_command_where_gputrace_has_failed(void **state)
{
	need_root();
	assert_int_equal(status_of_first(fail_before_the_command), COMMAND_STATUS);
}

static void it_ends_with_gputrace_where_the_command_has_ended(void **state)
{
	need_root();
	assert_int_equal(status_of_first(fail_after_the_command), OWN_STATUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stays_with_the_command_where_gputrace_has_failed),
		cmocka_unit_test(it_ends_with_gputrace_where_the_command_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
