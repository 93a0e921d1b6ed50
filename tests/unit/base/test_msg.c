/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages: one line each, whatever characters a name has that a target chose. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/msg.h"

static int file, stderr_before;

static int begin_test(void **state)
{
	fflush(stderr);
	file = memfd_create("stderr", MFD_CLOEXEC);
	stderr_before = dup(STDERR_FILENO);
	return dup2(file, STDERR_FILENO) == STDERR_FILENO ? 0 : -1;
}

/* What was printed since begin_test().  Restores standard error. */
static const char *take_printed(void)
{
	static char text[65536];
	ssize_t size;

	fflush(stderr);
	dup2(stderr_before, STDERR_FILENO);
	close(stderr_before);
	size = pread(file, text, sizeof(text) - 1, 0);
	close(file);
	assert_true(size >= 0);
	text[size] = 0;
	return text;
}

static void what_steers_a_terminal_is_in_no_message(void **state)
{
	msg_warn("cannot probe %s: %s", "/tmp/a\x1b]0;b\x07\xc2\x9b\x9b\x7f\xe2\x80\xae", "why");
	assert_string_equal(take_printed(),
			    "gputrace: warning: cannot probe /tmp/a\xef\xbf\xbd]0;b\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd: why\n");
}

static void a_name_of_several_lines_is_one(void **state)
{
	msg_error("%s", "a\ngputrace: all is well\r\n");
	assert_string_equal(take_printed(), "gputrace: a gputrace: all is well  \n");
}

static void names_of_people_stay_as_they_are(void **state)
{
	msg_info("%s", "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80");
	assert_string_equal(take_printed(), "gputrace: gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80\n");
}

static void a_long_message_is_printed_whole(void **state)
{
	char *name = malloc(20001);
	const char *text;

	memset(name, '\x1b', 20000);
	name[20000] = 0;
	msg_error("%s", name);
	free(name);
	text = take_printed();
	assert_int_equal(strlen(text), strlen("gputrace: ") + 60000 + 1);
	assert_null(strchr(text, '\x1b'));
}

/* Says something else, which is printed at once. */
static void *say_beside(void *unused)
{
	msg_error("of another thread");
	return unused;
}

static void what_a_thread_holds_is_printed_when_asked_for(void **state)
{
	pthread_t thread;
	char *held = NULL;

	msg_hold(&held);
	msg_error("first %s", "a\x1b");
	msg_warn("second");
	assert_int_equal(pthread_create(&thread, NULL, say_beside, NULL), 0);
	pthread_join(thread, NULL);
	msg_hold(NULL);
	msg_error("third");
	msg_print_held(held);
	msg_print_held(NULL);
	free(held);
	assert_string_equal(take_printed(), "gputrace: of another thread\ngputrace: third\n"
					    "gputrace: first a\xef\xbf\xbd\ngputrace: warning: second\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_steers_a_terminal_is_in_no_message, begin_test),
		cmocka_unit_test_setup(a_name_of_several_lines_is_one, begin_test),
		cmocka_unit_test_setup(names_of_people_stay_as_they_are, begin_test),
		cmocka_unit_test_setup(a_long_message_is_printed_whole, begin_test),
		cmocka_unit_test_setup(what_a_thread_holds_is_printed_when_asked_for, begin_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
