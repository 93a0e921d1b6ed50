/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a command that only reads files may still do.  Each attempt is made in a process that is confined for it. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/output/confine.h"
#include "cmd/output/output.h"
#include "own_folder.h"

#define NOT_CONFINED 99
#define ELSEWHERE "/root" /* a place for neither an output nor a temporary file */

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

static int errno_of(long result)
{
	return result < 0 ? errno : 0;
}

/* The error of the attempt in a confined process; 0: it was permitted. */
static int try_confined(const struct options *options, int (*attempt)(const char *path), const char *path)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(confine_reader(options) ? attempt(path) : NOT_CONFINED);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), NOT_CONFINED);
	return WEXITSTATUS(status);
}

static int try_read(const char *path)
{
	return errno_of(open(path, O_RDONLY | O_CLOEXEC));
}

static int try_create(const char *path)
{
	return errno_of(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int makes_temporary(const char *path)
{
	return errno_of(open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static int writes_output(const char *path)
{
	struct output output;
	int err = output_open(path, &output);

	if (!err)
		err = output_commit(&output);
	output_close(&output);
	return -err;
}

static int try_remove(const char *path)
{
	return errno_of(unlink(path));
}

static int try_execute(const char *path)
{
	char *argv[] = {(char *)(uintptr_t) "true", NULL};

	return errno_of(execv(path, argv));
}

static int signals_its_parent(const char *path)
{
	return errno_of(kill(getppid(), 0));
}

static int try_connect(const char *path)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return errno_of(connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (void *)&address, sizeof(address)));
}

static int try_listen(const char *path)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return errno_of(bind(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (void *)&address, sizeof(address)));
}

static void a_file_is_read_anywhere_and_written_nowhere_else(void **state)
{
	const struct options options = {.subcommand = SUBCOMMAND_REPORT};
	char *made = xstrdup(ELSEWHERE "/gputrace-test-confined");

	if (landlock_version() < 1 || geteuid())
		skip();
	assert_int_equal(try_create(made), 0);
	assert_int_equal(try_confined(&options, try_read, made), 0);
	assert_int_equal(try_confined(&options, try_create, made), EACCES);
	assert_int_equal(try_confined(&options, try_remove, made), EACCES);
	assert_int_equal(try_confined(&options, makes_temporary, ELSEWHERE), EACCES);
	assert_int_equal(try_remove(made), 0);
	assert_int_equal(try_confined(&options, try_create, made), EACCES);
	assert_int_equal(try_confined(&options, makes_temporary, "/var/tmp"), 0);
	free(made);
}

static void an_output_is_written_where_its_name_leads(void **state)
{
	struct options options = {.subcommand = SUBCOMMAND_EXPORT};
	char *made = xstrdup(ELSEWHERE "/gputrace-test-confined.json"), *link = in_folder("link.json");
	const char *outputs[] = {"-", link};

	if (landlock_version() < 1 || geteuid())
		skip();
	assert_int_equal(symlink(made, link), 0);
	assert_int_equal(try_confined(&options, writes_output, link), EACCES);
	options.outputs.list.items = outputs;
	options.outputs.list.count = 2;
	assert_int_equal(try_confined(&options, writes_output, link), 0);
	assert_int_equal(try_confined(&options, writes_output, made), 0); /* replaces the existing file */
	assert_int_equal(try_remove(made), 0);
	free(made);
	free(link);
}

static void nothing_is_executed_and_no_one_is_reached(void **state)
{
	const struct options report = {.subcommand = SUBCOMMAND_REPORT}, view = {.subcommand = SUBCOMMAND_VIEW};
	long version = landlock_version();

	if (version < 1)
		skip();
	assert_int_equal(try_confined(&report, try_execute, "/bin/true"), EACCES);
	if (version >= 4) {
		assert_int_equal(try_confined(&report, try_connect, NULL), EACCES);
		assert_int_equal(try_confined(&report, try_listen, NULL), EACCES);
		assert_int_equal(try_confined(&view, try_listen, NULL), 0);
		assert_int_equal(try_confined(&view, try_connect, NULL), EACCES);
	}
	if (version >= 6)
		assert_int_equal(try_confined(&report, signals_its_parent, NULL), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(a_file_is_read_anywhere_and_written_nowhere_else),
		file_test(an_output_is_written_where_its_name_leads),
		file_test(nothing_is_executed_and_no_one_is_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
