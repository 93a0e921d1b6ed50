/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last traces: how many are kept, in which order, with whose rights, and on which file systems. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/msg.h"
#include "cmd/output/last_trace.h"
#include "own_folder.h"

#define STRANGER 4242 /* a user id that no one has here */

static int make_state(void **state)
{
	int status = make_folder(state);

	setenv("XDG_STATE_HOME", folder, 1);
	msg_set_level(MSG_QUIET);
	return status;
}

static int remove_state(void **state)
{
	unsetenv("XDG_STATE_HOME");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return remove_folder(state);
}

#define state_test(name) cmocka_unit_test_setup_teardown(name, make_state, remove_state)

/* A log without a name, as of a recording, with that text and that many bytes in all. */
static int open_log(const char *text, off_t bytes)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (bytes)
		assert_int_equal(ftruncate(fd, bytes), 0);
	return fd;
}

static void keep_trace(const char *text)
{
	int fd = open_log(text, 0);

	last_trace_keep(fd);
	close(fd);
}

/* Number of the traces that are kept. */
static unsigned count_kept(void)
{
	return count_matching("gputrace/2*Z.gpt");
}

static int choose_trace(enum subcommand subcommand, struct options *options)
{
	static struct options last;
	int err;

	options_free(&last);
	last = (struct options){.subcommand = subcommand, .reads_last = true};
	err = last_trace_choose(&last);
	*options = last;
	return err;
}

/* What is in a trace that was chosen. */
static const char *text_of(const char *path)
{
	static char text[64];
	int fd;
	ssize_t got;

	assert_true(last_trace_is(path));
	fd = last_trace_open(path);
	assert_true(fd >= 0);
	got = read(fd, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = 0;
	close(fd);
	return text;
}

static const char *last_text(void)
{
	struct options options;

	assert_int_equal(choose_trace(SUBCOMMAND_REPORT, &options), 0);
	return text_of(options.log);
}

static struct stat status_of(const char *name)
{
	char *path = in_folder(name);
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	free(path);
	return status;
}

static void the_last_is_read_and_diff_reads_the_last_two(void **state)
{
	struct options options;

	assert_int_equal(choose_trace(SUBCOMMAND_REPORT, &options), -ENOENT);
	keep_trace("first");
	assert_int_equal(choose_trace(SUBCOMMAND_DIFF, &options), -ENOENT);
	keep_trace("second");
	keep_trace("third");
	assert_string_equal(last_text(), "third");
	assert_int_equal(choose_trace(SUBCOMMAND_DIFF, &options), 0);
	assert_string_equal(text_of(options.log), "second");
	assert_string_equal(text_of(options.logs.list.items[1]), "third");
	assert_false(last_trace_is("x.gpt"));
}

static void a_trace_is_the_log_itself_and_its_user_s_alone(void **state)
{
	int fd = open_log("log", 0);
	struct stat log;
	struct options options;

	last_trace_keep(fd);
	assert_int_equal(fstat(fd, &log), 0);
	assert_int_equal(log.st_nlink, 1); /* no second file was written */
	assert_int_equal(log.st_mode & 0777, 0600);
	assert_int_equal(status_of("gputrace").st_mode & 0777, 0700);
	assert_int_equal(choose_trace(SUBCOMMAND_REPORT, &options), 0);
	close(fd);
}

static void five_are_kept_and_the_oldest_goes(void **state)
{
	char text[2] = "0", *other = in_folder("gputrace/notes.gpt");
	struct options options;
	int fd;

	keep_trace("x");
	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* the user's */
	assert_true(fd >= 0);
	close(fd);
	for (; *text < '7'; ++*text)
		keep_trace(text);
	assert_int_equal(count_kept(), LAST_TRACES_MOST);
	assert_int_equal(choose_trace(SUBCOMMAND_DIFF, &options), 0);
	assert_string_equal(text_of(options.log), "5");
	assert_string_equal(text_of(options.logs.list.items[1]), "6");
	assert_int_equal(access(other, F_OK), 0);
	free(other);
}

/* What is printed while the log is kept. */
static const char *said_of(int log_fd)
{
	static char text[256];
	int saved = dup(STDERR_FILENO), file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t got;

	assert_true(saved >= 0 && file >= 0);
	msg_set_level(MSG_NORMAL);
	dup2(file, STDERR_FILENO);
	last_trace_keep(log_fd);
	dup2(saved, STDERR_FILENO);
	got = pread(file, text, sizeof(text) - 1, 0);
	text[got > 0 ? got : 0] = 0;
	close(saved);
	close(file);
	return text;
}

static void together_they_have_no_more_than_a_gigabyte(void **state)
{
	int large = open_log("large", 600000000), too_large = open_log("too large", LAST_TRACES_BYTES + 1);

	keep_trace("small");
	last_trace_keep(large);
	assert_int_equal(count_kept(), 2);
	last_trace_keep(large);
	assert_int_equal(count_kept(), 1);
	assert_string_equal(last_text(), "large");
	assert_string_equal(
		said_of(too_large),
		"gputrace: warning: the trace is not kept as the last one: it has 1.0 GB, and at most 1 GB are "
		"kept; -o FILE.gpt keeps more\n");
	assert_int_equal(count_kept(), 1);
	close(large);
	close(too_large);
}

static void one_after_a_clock_that_was_ahead_is_the_last(void **state)
{
	char *ahead = in_folder("gputrace/29991231T235959.999999Z.gpt");

	keep_trace("first");
	assert_int_equal(close(open(ahead, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	keep_trace("second");
	assert_string_equal(last_text(), "second");
	keep_trace("third");
	assert_string_equal(last_text(), "third");
	free(ahead);
}

static void a_name_that_is_taken_is_not_taken_again(void **state)
{
	char *ahead = in_folder("gputrace/29991231T235959.999998Z.gpt"),
	     *next = in_folder("gputrace/29991231T235959.999999Z.gpt");

	keep_trace("first");
	assert_int_equal(close(open(ahead, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(mkdir(next, 0700), 0); /* as one of a gputrace that ended at the same time */
	keep_trace("second");
	assert_string_equal(last_text(), "second");
	assert_int_equal(rmdir(next), 0);
	free(ahead);
	free(next);
}

static void two_that_end_at_once_are_both_kept(void **state)
{
	enum { EACH = 2, AT_ONCE = 2 };
	pid_t children[AT_ONCE];

	for (unsigned i = 0; i < AT_ONCE; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (!children[i]) {
			for (unsigned n = 0; n < EACH; n++)
				keep_trace(i ? "a" : "b");
			_exit(0);
		}
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	assert_int_equal(count_kept(), EACH * AT_ONCE);
}

/* ---- other file systems ------------------------------------------------------------------------------------------ */

/* From here on this process cannot link files, and cannot make any without a name: as from one disk to an NFS. */
static void refuse_links(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Keeps the log in a process in which files cannot be linked. */
static void keep_by_copy(const char *text)
{
	int fd = open_log(text, 0), status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		refuse_links();
		last_trace_keep(fd);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd);
}

static unsigned count_parts(void)
{
	return count_matching("gputrace/.part-*");
}

static void where_nothing_can_be_linked_it_is_copied(void **state)
{
	keep_by_copy("a copy");
	assert_string_equal(last_text(), "a copy");
	assert_int_equal(count_kept(), 1);
	assert_int_equal(count_parts(), 0);
}

static void what_a_killed_gputrace_had_copied_is_no_trace(void **state)
{
	char *part = in_folder("gputrace/.part-0");
	struct options options;
	int fd;

	keep_by_copy("first");
	fd = open(part, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "half of a long log", 18), 18);
	assert_string_equal(last_text(), "first");
	keep_by_copy("second"); /* it takes the file over */
	assert_string_equal(last_text(), "second");
	assert_int_equal(count_parts(), 0);
	close(fd);

	fd = open(part, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* as a gputrace that is copying */
	keep_by_copy("third");
	assert_int_equal(count_parts(), 1);
	assert_int_equal(choose_trace(SUBCOMMAND_DIFF, &options), 0);
	assert_string_equal(text_of(options.log), "second");
	assert_string_equal(text_of(options.logs.list.items[1]), "third");
	close(fd);
	free(part);
}

/* ---- whose it is ------------------------------------------------------------------------------------------------- */

static void needs_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("only root can make files of other users\n");
	skip();
}

/* Called by the stranger through sudo; the folder of state is the stranger's. */
static void call_by_sudo(void)
{
	char *home = in_folder("home");

	setenv("SUDO_UID", "4242", 1);
	setenv("SUDO_GID", "4242", 1);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(chown(home, STRANGER, STRANGER), 0);
	setenv("XDG_STATE_HOME", home, 1);
	free(home);
}

static void under_sudo_it_is_that_of_who_called_it(void **state)
{
	int fd;

	needs_root();
	call_by_sudo();
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open_log("log", 0);
	last_trace_keep(fd);
	close(fd);
	assert_int_equal(status_of("home/gputrace").st_uid, STRANGER);
	assert_int_equal(status_of("home/gputrace").st_gid, STRANGER);
	assert_int_equal(status_of("home/gputrace").st_mode & 0777, 0700);
	assert_string_equal(last_text(), "log");
	unsetenv("SUDO_UID"); /* the same user without sudo: root is not the folder's owner */
	assert_int_equal(choose_trace(SUBCOMMAND_REPORT, &(struct options){0}), -EEXIST);
	/* this process has its own rights again */
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(setfsgid((gid_t)-1), (int)getegid());
	assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
}

static void what_the_caller_of_sudo_may_not_write_is_not_written(void **state)
{
	char *root_s = in_folder("root"), *home = in_folder("home"), *way = in_folder("home/gputrace");

	needs_root();
	call_by_sudo();
	assert_int_equal(mkdir(root_s, 0755), 0);
	assert_int_equal(symlink(root_s, way), 0); /* the folder is a link */
	keep_trace("log");
	assert_int_equal(choose_trace(SUBCOMMAND_REPORT, &(struct options){0}), -ENOTDIR);
	assert_int_equal(unlink(way), 0);
	setenv("XDG_STATE_HOME", root_s, 1); /* the folder of state is root's */
	keep_trace("log");
	assert_int_equal(rmdir(home), 0);
	assert_int_equal(symlink(root_s, home), 0); /* the folder of state is a link to it */
	setenv("XDG_STATE_HOME", home, 1);
	keep_trace("log");
	assert_int_equal(rmdir(root_s), 0); /* which has stayed empty */
	free(root_s);
	free(home);
	free(way);
}

static void a_link_in_the_folder_is_no_trace(void **state)
{
	char *link = in_folder("gputrace/29991231T235959.999999Z.gpt");

	keep_trace("log");
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_string_equal(last_text(), "log");
	free(link);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		state_test(the_last_is_read_and_diff_reads_the_last_two),
		state_test(a_trace_is_the_log_itself_and_its_user_s_alone),
		state_test(five_are_kept_and_the_oldest_goes),
		state_test(together_they_have_no_more_than_a_gigabyte),
		state_test(one_after_a_clock_that_was_ahead_is_the_last),
		state_test(a_name_that_is_taken_is_not_taken_again),
		state_test(two_that_end_at_once_are_both_kept),
		state_test(where_nothing_can_be_linked_it_is_copied),
		state_test(what_a_killed_gputrace_had_copied_is_no_trace),
		state_test(under_sudo_it_is_that_of_who_called_it),
		state_test(what_the_caller_of_sudo_may_not_write_is_not_written),
		state_test(a_link_in_the_folder_is_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
