/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loan of a file: what the lender is, what can be done to it, and when it ends. */
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
#include "attach/inject/lend.h"
#include "attach/inject/read_only.h"
#include "process_state.h"

#define STRANGER 200000 /* a user without any rights */
#define LOOKS 90000	/* of 1 ms each: the limit for programs that hang */

static char lent[] = "/tmp/gputrace-lent-XXXXXX";

struct loan {
	struct lender lender;
	pid_t borrower, pid; /* pid: of the lender */
	int file;
	char path[64], why[192];
};

static pid_t start_borrower(void)
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

	for (int i = 0; i < LOOKS; i++) {
		if (!strncmp(status_of(pid, "State:\t", line), state, strlen(state)))
			return;
		pause_a_little();
	}
	fail_msg("pid %d: not in state %s", pid, state);
}

static void wait_gone(pid_t pid)
{
	for (int i = 0; i < LOOKS && !kill(pid, 0); i++)
		pause_a_little();
	assert_int_equal(kill(pid, 0), -1);
}

static bool leads_to_the_file(const struct loan *loan)
{
	struct stat there, file;

	return !stat(loan->path, &there) && !stat(lent, &file) && there.st_ino == file.st_ino &&
	       there.st_dev == file.st_dev;
}

static int begin(void **state)
{
	struct loan *loan = calloc(1, sizeof(*loan));

	*state = loan;
	if (geteuid())
		return 0;
	loan->borrower = start_borrower();
	loan->file = read_only_open(lent);
	wait_state(loan->borrower, "S"); /* it has set its ids */
	assert_int_equal(lender_start(&loan->lender, loan->borrower, loan->file, loan->why, sizeof(loan->why)), 0);
	snprintf(loan->path, sizeof(loan->path), "%s", loan->lender.path);
	assert_int_equal(sscanf(loan->path, "/proc/%d/", &loan->pid), 1);
	return 0;
}

static int end(void **state)
{
	struct loan *loan = *state;

	if (loan->borrower > 0) {
		kill(loan->borrower, SIGKILL);
		waitpid(loan->borrower, NULL, 0);
		close(loan->file);
	}
	free(loan);
	return 0;
}

#define AS_ROOT(loan)                                                                                                  \
	struct loan *loan = *state;                                                                                    \
	if (geteuid())                                                                                                 \
	skip() /* taking on another user's rights needs root */

static void the_path_leads_to_the_file_until_the_end(void **state)
{
	AS_ROOT(loan);
	assert_true(leads_to_the_file(loan));
	assert_int_equal(lender_stop(&loan->lender), 0);
	assert_int_equal(kill(loan->pid, 0), -1);
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

	AS_ROOT(loan);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(status_of(loan->pid, expected[i].key, line), expected[i].value);
	lender_stop(&loan->lender);
}

static void its_namespaces_are_the_borrowers(void **state)
{
	static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};

	AS_ROOT(loan);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char of_lender[64], of_borrower[64];
		struct stat lender, borrower;

		snprintf(of_lender, sizeof(of_lender), "/proc/%d/ns/%s", loan->pid, names[i]);
		snprintf(of_borrower, sizeof(of_borrower), "/proc/%d/ns/%s", loan->borrower, names[i]);
		assert_int_equal(stat(of_lender, &lender), 0);
		assert_int_equal(stat(of_borrower, &borrower), 0);
		assert_int_equal(lender.st_ino, borrower.st_ino);
	}
	lender_stop(&loan->lender);
}

static void its_root_and_its_folder_lead_nowhere(void **state)
{
	static const char *const names[] = {"root", "cwd", "root/..", "cwd/../.."};

	AS_ROOT(loan);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct dirent *entry;
		char path[64];
		DIR *folder;

		snprintf(path, sizeof(path), "/proc/%d/%s", loan->pid, names[i]);
		folder = opendir(path);
		assert_non_null(folder);
		while ((entry = readdir(folder)))
			if (entry->d_name[0] != '.')
				assert_string_equal(entry->d_name, READ_ONLY_PROGRAM);
		closedir(folder);
	}
	lender_stop(&loan->lender);
}

static void no_one_else_can_trace_it(void **state)
{
	AS_ROOT(loan);
	assert_int_equal(ptrace(PTRACE_SEIZE, loan->pid, NULL, NULL), -1);
	assert_int_equal(errno, EPERM);
	lender_stop(&loan->lender);
}

static void signals_do_not_wake_it(void **state)
{
	char line[256];

	AS_ROOT(loan);
	kill(loan->pid, SIGSTOP);
	kill(loan->pid, SIGCONT);
	kill(loan->pid, SIGTERM);
	assert_string_equal(status_of(loan->pid, "State:\t", line), "t (tracing stop)");
	assert_true(leads_to_the_file(loan));
	assert_int_equal(lender_stop(&loan->lender), 0);
}

/* Otherwise another process could get its pid, and a descriptor with that number. */
static void its_pid_is_no_ones_when_it_has_been_killed(void **state)
{
	AS_ROOT(loan);
	kill(loan->pid, SIGKILL);
	wait_state(loan->pid, "Z");
	assert_false(leads_to_the_file(loan));
	assert_int_equal(kill(loan->pid, 0), 0);
	assert_int_equal(lender_stop(&loan->lender), -EOWNERDEAD);
	assert_int_equal(kill(loan->pid, 0), -1);
}

static void it_goes_with_the_tracer(void **state)
{
	AS_ROOT(loan);
	lender_leave(&loan->lender);
	wait_gone(loan->pid);
}

/* Waits until the keeper has looked at the borrower several times and waits again. */
static void wait_kept(pid_t keeper)
{
	unsigned long waits = waits_of(keeper);

	while (blocked_in(keeper) != SYS_poll || waits_of(keeper) < waits + 5) {
		assert_true(state_of(keeper) && state_of(keeper) != 'Z');
		pause_a_little();
	}
}

/* The borrower may open the path later. */
static void a_path_in_use_is_kept_until_the_borrower_ends(void **state)
{
	pid_t keeper;

	AS_ROOT(loan);
	keeper = loan->lender.pid;
	lender_use(&loan->lender);
	lender_leave(&loan->lender);
	wait_kept(keeper);
	assert_true(leads_to_the_file(loan));
	kill(loan->borrower, SIGKILL);
	waitpid(loan->borrower, NULL, 0);
	loan->borrower = 0;
	wait_gone(loan->pid);
}

static void a_file_that_the_borrower_could_write_to_is_not_lent(void **state)
{
	int file = open(lent, O_RDONLY | O_CLOEXEC);
	struct lender second;

	AS_ROOT(loan);
	lender_stop(&loan->lender);
	assert_int_equal(fchown(file, STRANGER, STRANGER), 0);
	assert_int_equal(lender_start(&second, loan->borrower, file, loan->why, sizeof(loan->why)), -EROFS);
	assert_non_null(strstr(loan->why, "might write to the agent's file"));
	assert_int_equal(lender_start(&second, loan->borrower, loan->file, loan->why, sizeof(loan->why)), 0);
	lender_stop(&second);
	close(file);
}

/* Starts a borrower that changes something of itself, and asks for a loan to it. */
static void assert_not_lent(const struct loan *loan, void (*change)(void), int error, const char *why)
{
	char said[192] = "";
	struct lender lender;
	int pipe[2], lent_to;
	pid_t borrower;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	borrower = fork();
	if (!borrower) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		change();
		(void)!write(pipe[1], "", 1);
		for (;;)
			pause();
	}
	close(pipe[1]);
	assert_int_equal(read(pipe[0], said, 1), 1);
	close(pipe[0]);
	lent_to = lender_start(&lender, borrower, loan->file, said, sizeof(said));
	kill(borrower, SIGKILL);
	waitpid(borrower, NULL, 0);
	assert_int_equal(lent_to, error);
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

static void a_borrower_of_no_user_or_without_proc_gets_none(void **state)
{
	AS_ROOT(loan);
	lender_stop(&loan->lender);
	assert_not_lent(loan, be_of_no_user, -EINVAL, "its user's rights cannot be taken on: Invalid argument");
	assert_not_lent(loan, cover_proc, -ENOTSUP,
			"it has no /proc of its own pid namespace, through which the agent would come");
}

static void what_is_opened_read_only_cannot_be_opened_for_writing(void **state)
{
	char path[64];

	AS_ROOT(loan);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", loan->file);
	assert_true(read_only_is(loan->file));
	assert_int_equal(open(path, O_WRONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(chmod(path, 0777), -1);
	assert_int_equal(errno, EROFS);
	lender_stop(&loan->lender);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define LOAN(test) cmocka_unit_test_setup_teardown(test, begin, end)
		LOAN(the_path_leads_to_the_file_until_the_end),
		LOAN(it_has_no_rights_and_does_nothing),
		LOAN(its_namespaces_are_the_borrowers),
		LOAN(its_root_and_its_folder_lead_nowhere),
		LOAN(no_one_else_can_trace_it),
		LOAN(signals_do_not_wake_it),
		LOAN(its_pid_is_no_ones_when_it_has_been_killed),
		LOAN(it_goes_with_the_tracer),
		LOAN(a_path_in_use_is_kept_until_the_borrower_ends),
		LOAN(a_file_that_the_borrower_could_write_to_is_not_lent),
		LOAN(a_borrower_of_no_user_or_without_proc_gets_none),
		LOAN(what_is_opened_read_only_cannot_be_opened_for_writing),
	};
	int failed, file;

	if (argc && !strcmp(argv[0], INJECT_LENDER))
		return inject_lend_main(argc, argv);
	file = mkstemp(lent);
	(void)fchmod(file, 0644);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(lent);
	close(file);
	return failed;
}
