/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent file server: what it is, what can be done to it, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/inject.h"
#include "attach/inject/file_server.h"
#include "attach/inject/read_only.h"
#include "process_state.h"

#define STRANGER 200000 /* a user without any rights */
#define CHECKS 90000	/* of 1 ms each: the limit for programs that hang */

static char served[] = "/tmp/gputrace-served-XXXXXX";

struct request {
	struct file_server file_server;
	pid_t target, pid; /* pid: of the file server */
	int file;
	char path[64], why[192];
};

static pid_t start_target(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP))
			_exit(1);
		if (setresgid(STRANGER, STRANGER, STRANGER) || setresuid(STRANGER, STRANGER, STRANGER))
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	return child;
}

/* One line of /proc/PID/status. */
static const char *status_of(pid_t pid, const char *key, char line[256])
{
	char path[64];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, 256, status))
		if (!strncmp(line, key, strlen(key))) {
			fclose(status);
			line[strcspn(line, "\n")] = 0;
			return line + strlen(key);
		}
	if (status)
		fclose(status);
	return "";
}

static void wait_state(pid_t pid, const char *state)
{
	char line[256];

	for (int i = 0; i < CHECKS; i++) {
		if (!strncmp(status_of(pid, "State:\t", line), state, strlen(state)))
			return;
		pause_a_little();
	}
	fail_msg("pid %d: not in state %s", pid, state);
}

static void wait_gone(pid_t pid)
{
	for (int i = 0; i < CHECKS && !kill(pid, 0); i++)
		pause_a_little();
	assert_int_equal(kill(pid, 0), -1);
}

static bool leads_to_the_file(const struct request *request)
{
	struct stat there, file;

	return !stat(request->path, &there) && !stat(served, &file) && there.st_ino == file.st_ino &&
	       there.st_dev == file.st_dev;
}

static int begin_test(void **state)
{
	struct request *request = calloc(1, sizeof(*request));

	*state = request;
	if (geteuid())
		return 0;
	request->target = start_target();
	request->file = read_only_open(served);
	wait_state(request->target, "S"); /* it has set its ids */
	assert_int_equal(file_server_start(&request->file_server, request->target, request->file, request->why,
					   sizeof(request->why)),
			 0);
	snprintf(request->path, sizeof(request->path), "%s", request->file_server.path);
	assert_int_equal(sscanf(request->path, "/proc/%d/", &request->pid), 1);
	return 0;
}

static int end_test(void **state)
{
	struct request *request = *state;

	if (request->target > 0) {
		kill(request->target, SIGKILL);
		waitpid(request->target, NULL, 0);
		close(request->file);
	}
	free(request);
	return 0;
}

#define AS_ROOT(request)                                                                                               \
	struct request *request = *state;                                                                              \
	if (geteuid())                                                                                                 \
	skip() /* taking on another user's rights needs root */

static void the_path_leads_to_the_file_until_the_end(void **state)
{
	AS_ROOT(request);
	assert_true(leads_to_the_file(request));
	assert_int_equal(file_server_stop(&request->file_server), 0);
	assert_int_equal(kill(request->pid, 0), -1);
}

static void it_has_no_rights_and_does_nothing(void **state)
{
	static const struct {
		const char *key, *value;
	} expected[] = {{"State:\t", "t (tracing stop)"},
			{"CapPrm:\t", "0000000000000000"},
			{"CapEff:\t", "0000000000000000"},
			{"CapBnd:\t", "0000000000000000"},
			{"CapInh:\t", "0000000000000000"},
			{"CapAmb:\t", "0000000000000000"},
			{"NoNewPrivs:\t", "1"},
			{"Threads:\t", "1"},
			{"Groups:\t", " "},
			{"Name:\t", READ_ONLY_PROGRAM},
			{"Uid:\t", "200000\t200000\t200000\t200000"}};
	char line[256];

	AS_ROOT(request);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(status_of(request->pid, expected[i].key, line), expected[i].value);
	file_server_stop(&request->file_server);
}

static void its_namespaces_are_the_targets(void **state)
{
	static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};

	AS_ROOT(request);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char of_server[64], of_target[64];
		struct stat file_server, target;

		snprintf(of_server, sizeof(of_server), "/proc/%d/ns/%s", request->pid, names[i]);
		snprintf(of_target, sizeof(of_target), "/proc/%d/ns/%s", request->target, names[i]);
		assert_int_equal(stat(of_server, &file_server), 0);
		assert_int_equal(stat(of_target, &target), 0);
		assert_int_equal(file_server.st_ino, target.st_ino);
	}
	file_server_stop(&request->file_server);
}

static void its_root_and_its_folder_lead_nowhere(void **state)
{
	static const char *const names[] = {"root", "cwd", "root/..", "cwd/../.."};

	AS_ROOT(request);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct dirent *entry;
		char path[64];
		DIR *folder;

		snprintf(path, sizeof(path), "/proc/%d/%s", request->pid, names[i]);
		folder = opendir(path);
		assert_non_null(folder);
		while ((entry = readdir(folder)))
			if (entry->d_name[0] != '.')
				assert_string_equal(entry->d_name, READ_ONLY_PROGRAM);
		closedir(folder);
	}
	file_server_stop(&request->file_server);
}

static void no_one_else_can_trace_it(void **state)
{
	AS_ROOT(request);
	assert_int_equal(ptrace(PTRACE_SEIZE, request->pid, NULL, NULL), -1);
	assert_int_equal(errno, EPERM);
	file_server_stop(&request->file_server);
}

static void signals_do_not_wake_it(void **state)
{
	char line[256];

	AS_ROOT(request);
	kill(request->pid, SIGSTOP);
	kill(request->pid, SIGCONT);
	kill(request->pid, SIGTERM);
	assert_string_equal(status_of(request->pid, "State:\t", line), "t (tracing stop)");
	assert_true(leads_to_the_file(request));
	assert_int_equal(file_server_stop(&request->file_server), 0);
}

/* Otherwise another process could get its pid, and a descriptor with that number. */
static void its_pid_is_no_ones_when_it_has_been_killed(void **state)
{
	AS_ROOT(request);
	kill(request->pid, SIGKILL);
	wait_state(request->pid, "Z");
	assert_false(leads_to_the_file(request));
	assert_int_equal(kill(request->pid, 0), 0);
	assert_int_equal(file_server_stop(&request->file_server), -EOWNERDEAD);
	assert_int_equal(kill(request->pid, 0), -1);
}

static void it_goes_with_the_tracer(void **state)
{
	AS_ROOT(request);
	file_server_leave(&request->file_server);
	wait_gone(request->pid);
}

/* Waits until the parent has checked the target several times and waits again. */
static void wait_kept(pid_t parent)
{
	unsigned long waits = waits_of(parent);

	while (blocked_in(parent) != SYS_poll || waits_of(parent) < waits + 5) {
		assert_true(state_of(parent) && state_of(parent) != 'Z');
		pause_a_little();
	}
}

/* The target may open the path later. */
static void a_path_in_use_is_kept_until_the_target_ends(void **state)
{
	pid_t parent;

	AS_ROOT(request);
	parent = request->file_server.pid;
	file_server_use(&request->file_server);
	file_server_leave(&request->file_server);
	wait_kept(parent);
	assert_true(leads_to_the_file(request));
	kill(request->target, SIGKILL);
	waitpid(request->target, NULL, 0);
	request->target = 0;
	wait_gone(request->pid);
}

static void a_file_that_the_target_could_write_to_is_not_served(void **state)
{
	int file = open(served, O_RDONLY | O_CLOEXEC);
	struct file_server second;

	AS_ROOT(request);
	file_server_stop(&request->file_server);
	assert_int_equal(fchown(file, STRANGER, STRANGER), 0);
	assert_int_equal(file_server_start(&second, request->target, file, request->why, sizeof(request->why)), -EROFS);
	assert_non_null(strstr(request->why, "might write to the agent's file"));
	assert_int_equal(file_server_start(&second, request->target, request->file, request->why, sizeof(request->why)),
			 0);
	file_server_stop(&second);
	close(file);
}

/* Starts a target that changes something of itself, and asks for a file server for it. */
static void assert_not_served(const struct request *request, void (*change)(void), int error, const char *why)
{
	char said[192] = "";
	struct file_server file_server;
	int pipe[2], result;
	pid_t target;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	target = fork();
	if (!target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		change();
		(void)!write(pipe[1], "", 1);
		for (;;)
			pause();
	}
	close(pipe[1]);
	assert_int_equal(read(pipe[0], said, 1), 1);
	close(pipe[0]);
	result = file_server_start(&file_server, target, request->file, said, sizeof(said));
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	assert_int_equal(result, error);
	assert_string_equal(said, why);
}

/* No user has a number in a new namespace without a map. */
static void be_of_no_user(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(1);
}

static void cover_proc(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, NULL))
		_exit(1);
}

static void a_target_of_no_user_or_without_proc_gets_none(void **state)
{
	AS_ROOT(request);
	file_server_stop(&request->file_server);
	assert_not_served(request, be_of_no_user, -EINVAL, "its user's rights cannot be taken on: Invalid argument");
	assert_not_served(request, cover_proc, -ENOTSUP,
			  "it has no /proc of its own pid namespace, through which the agent would come");
}

static void what_is_opened_read_only_cannot_be_opened_for_writing(void **state)
{
	char path[64];

	AS_ROOT(request);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", request->file);
	assert_true(read_only_is(request->file));
	assert_int_equal(open(path, O_WRONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(chmod(path, 0777), -1);
	assert_int_equal(errno, EROFS);
	file_server_stop(&request->file_server);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define FILE_SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)
		FILE_SERVER_TEST(the_path_leads_to_the_file_until_the_end),
		FILE_SERVER_TEST(it_has_no_rights_and_does_nothing),
		FILE_SERVER_TEST(its_namespaces_are_the_targets),
		FILE_SERVER_TEST(its_root_and_its_folder_lead_nowhere),
		FILE_SERVER_TEST(no_one_else_can_trace_it),
		FILE_SERVER_TEST(signals_do_not_wake_it),
		FILE_SERVER_TEST(its_pid_is_no_ones_when_it_has_been_killed),
		FILE_SERVER_TEST(it_goes_with_the_tracer),
		FILE_SERVER_TEST(a_path_in_use_is_kept_until_the_target_ends),
		FILE_SERVER_TEST(a_file_that_the_target_could_write_to_is_not_served),
		FILE_SERVER_TEST(a_target_of_no_user_or_without_proc_gets_none),
		FILE_SERVER_TEST(what_is_opened_read_only_cannot_be_opened_for_writing),
	};
	int failed, file;

	if (argc && !strcmp(argv[0], INJECT_FILE_SERVER))
		return inject_file_server_main(argc, argv);
	file = mkstemp(served);
	(void)fchmod(file, 0644);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(served);
	close(file);
	return failed;
}
