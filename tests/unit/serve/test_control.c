/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The socket of `gputrace serve`: who may ask what, and what of a path is replaced and what left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/threads/thread.h"
#include "own_folder.h"
#include "serve/control.h"

static char why[CONTROL_WHY_MAX];
static bool replaced;
static struct control_socket bound;

static void a_request_is_a_word_and_nothing_else(void **state)
{
	assert_int_equal(control_request_of("status", 6), CONTROL_STATUS);
	assert_int_equal(control_request_of("write", 5), CONTROL_WRITE);
	assert_int_equal(control_request_of("stop", 4), CONTROL_STOP);
	assert_int_equal(control_request_of("stop\n", 5), CONTROL_NONE);
	assert_int_equal(control_request_of("stop\0x", 6), CONTROL_NONE);
	assert_int_equal(control_request_of("sto", 3), CONTROL_NONE);
	assert_int_equal(control_request_of("", 0), CONTROL_NONE);
	assert_int_equal(control_request_of("\xff\xfe/../", 6), CONTROL_NONE);
}

static void its_own_user_and_root_are_answered(void **state)
{
	assert_true(control_answers(1000, 1000));
	assert_true(control_answers(1000, 0));
	assert_true(control_answers(0, 0));
	assert_false(control_answers(0, 1000));
	assert_false(control_answers(1000, 1001));
	assert_false(control_answers(0, (uid_t)-1));
}

static void a_folder_is_made_for_its_user_alone(void **state)
{
	AUTO_FREE char *made = in_folder("made"), *path = in_folder("made/serve.sock");
	struct stat stat;
	int fd = control_listen(path, &bound, &replaced, why);

	assert_true(fd >= 0);
	assert_int_equal(lstat(made, &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0700);
	assert_int_equal(lstat(path, &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0600);
	close(fd);
	unlink(path);
	rmdir(made);
}

static void one_that_is_in_use_is_left_and_one_that_was_left_behind_is_replaced(void **state)
{
	AUTO_FREE char *path = in_folder("serve.sock");
	int first = control_listen(path, &bound, &replaced, why), second;

	assert_true(first >= 0);
	assert_false(replaced);
	assert_int_equal(control_listen(path, &bound, &replaced, why), -EADDRINUSE);
	assert_non_null(strstr(why, "a gputrace serves there"));
	close(first);
	second = control_listen(path, &bound, &replaced, why);
	assert_true(second >= 0);
	assert_true(replaced);
	close(second);
	bound.inode++;
	control_remove(path, &bound); /* another one has the name meanwhile */
	assert_int_equal(access(path, F_OK), 0);
	bound.inode--;
	control_remove(path, &bound);
	assert_int_equal(access(path, F_OK), -1);
}

static void what_is_no_socket_is_left(void **state)
{
	AUTO_FREE char *path = in_folder("file"), *link = in_folder("link");
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	assert_int_equal(control_listen(path, &bound, &replaced, why), -EEXIST);
	assert_non_null(strstr(why, "is no socket"));
	assert_int_equal(symlink("/nowhere", link), 0);
	assert_int_equal(control_listen(link, &bound, &replaced, why), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	unlink(link);
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
	AUTO_FREE char *made = in_folder("open"), *path = in_folder("open/serve.sock");
	int fd;

	assert_int_equal(mkdir(made, 0700), 0);
	assert_int_equal(chmod(made, 0777), 0);
	assert_int_equal(control_listen(path, &bound, &replaced, why), -EPERM);
	assert_non_null(strstr(why, "other users may change what is in it"));
	assert_int_equal(chmod(made, 01777), 0); /* as /tmp: they cannot remove a socket there */
	fd = control_listen(path, &bound, &replaced, why);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	rmdir(made);
}

/* Only root can make one. */
static void the_socket_of_another_user_is_named_and_left(void **state)
{
	AUTO_FREE char *path = in_folder("theirs");
	int fd;

	if (geteuid())
		skip();
	fd = control_listen(path, &bound, &replaced, why);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chown(path, 1234, 0), 0);
	assert_int_equal(control_listen(path, &bound, &replaced, why), -EPERM);
	assert_non_null(strstr(why, "is a socket of user 1234"));
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

static void a_path_that_is_too_long_is_named(void **state)
{
	char path[200];

	memset(path, 'a', sizeof(path));
	memcpy(path, "/tmp/", 5);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(control_listen(path, &bound, &replaced, why), -ENAMETOOLONG);
	assert_non_null(strstr(why, "too long for a socket"));
}

static void *answer_once(void *context)
{
	int fd;
	char word[32];

	while ((fd = accept(*(int *)context, NULL, NULL)) < 0)
		usleep(1000);
	assert_int_equal(control_peer(fd), geteuid());
	if (recv(fd, word, sizeof(word), 0) == 6)
		assert_int_equal(send(fd, "good\nas ever\n", 13, 0), 13);
	close(fd);
	return NULL;
}

static void who_asks_gets_the_answer_or_why_there_is_none(void **state)
{
	AUTO_FREE char *path = in_folder("serve.sock");
	char answer[CONTROL_ANSWER_MAX + 1];
	int listening;
	pthread_t thread;

	assert_int_equal(control_ask(path, "status", answer, why), -ENOENT);
	assert_non_null(strstr(why, "no gputrace serves there"));
	listening = control_listen(path, &bound, &replaced, why);
	assert_int_equal(thread_start(answer_once, &listening, 0, &thread), 0);
	assert_int_equal(control_ask(path, "status", answer, why), 13);
	assert_string_equal(answer, "good\nas ever\n");
	pthread_join(thread, NULL);
	assert_int_equal(thread_start(answer_once, &listening, 0, &thread), 0);
	assert_int_equal(control_ask(path, "stop", answer, why), -ECONNRESET);
	pthread_join(thread, NULL);
	close(listening);
	assert_int_equal(control_ask(path, "status", answer, why), -ECONNREFUSED);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_a_word_and_nothing_else),
		cmocka_unit_test(its_own_user_and_root_are_answered),
		cmocka_unit_test(a_folder_is_made_for_its_user_alone),
		cmocka_unit_test(one_that_is_in_use_is_left_and_one_that_was_left_behind_is_replaced),
		cmocka_unit_test(what_is_no_socket_is_left),
		cmocka_unit_test(a_folder_that_others_may_write_is_refused),
		cmocka_unit_test(the_socket_of_another_user_is_named_and_left),
		cmocka_unit_test(a_path_that_is_too_long_is_named),
		cmocka_unit_test(who_asks_gets_the_answer_or_why_there_is_none),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
