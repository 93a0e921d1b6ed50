/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output files: never half-written, never through another user's link, owned by the user who called sudo. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/record/log_file.h"
#include "cmd/output/output.h"
#include "own_folder.h"

#define STRANGER 4242 /* a user id that no one has here */

/* The content of the file; "" if there is none. */
static const char *content_of(const char *name)
{
	static char text[64];
	char *path = in_folder(name);
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[length] = 0;
	if (file)
		fclose(file);
	free(path);
	return text;
}

static int open_in_folder(const char *name, struct output *output)
{
	char *path = in_folder(name);
	int err = output_open(path, output);

	free(path);
	return err;
}

/* Opens, writes "new", commits. */
static int write_new(const char *name)
{
	struct output output;
	int err = open_in_folder(name, &output);

	if (err)
		return err;
	assert_int_equal(write(output.fd, "new", 3), 3);
	err = output_commit(&output);
	output_close(&output);
	return err;
}

static void make_old(const char *name)
{
	char *path = in_folder(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	free(path);
}

static void make_link(const char *name, const char *target, uid_t owner)
{
	char *path = in_folder(name);

	assert_int_equal(symlink(target, path), 0);
	if (owner)
		assert_int_equal(lchown(path, owner, owner), 0);
	free(path);
}

static void needs_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("only root can make files of other users\n");
	skip();
}

static struct stat status_of(const char *name)
{
	char *path = in_folder(name);
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	free(path);
	return status;
}

static void a_file_gets_its_name_when_it_is_whole(void **state)
{
	struct output output;

	assert_int_equal(open_in_folder("a.json", &output), 0);
	assert_int_equal(write(output.fd, "new", 3), 3);
	assert_string_equal(content_of("a.json"), "");
	assert_int_equal(output_commit(&output), 0);
	assert_string_equal(content_of("a.json"), "new");
	output_close(&output);
	assert_int_equal(count_files(), 1);
}

static void an_abandoned_file_leaves_nothing_behind(void **state)
{
	struct output output;

	make_old("a.json");
	assert_int_equal(open_in_folder("a.json", &output), 0);
	assert_int_equal(write(output.fd, "new", 3), 3);
	output_close(&output);
	assert_string_equal(content_of("a.json"), "old");
	assert_int_equal(count_files(), 1);
}

static void an_old_file_is_replaced(void **state)
{
	make_old("a.json");
	assert_int_equal(write_new("a.json"), 0);
	assert_string_equal(content_of("a.json"), "new");
}

static void files_are_readable_as_the_umask_says(void **state)
{
	mode_t old = umask(022);

	assert_int_equal(write_new("a.json"), 0);
	umask(077);
	assert_int_equal(write_new("b.json"), 0);
	umask(old);
	assert_int_equal(status_of("a.json").st_mode & 0777, 0644);
	assert_int_equal(status_of("b.json").st_mode & 0777, 0600);
}

static void a_long_name_is_written_too(void **state)
{
	char name[256];

	memset(name, 'n', 255);
	name[255] = 0;
	memcpy(name + 250, ".json", 5);
	assert_int_equal(write_new(name), 0);
	assert_string_equal(content_of(name), "new");
}

static void a_probe_says_what_opening_would_and_leaves_nothing(void **state)
{
	char *good = in_folder("a.json"), *bad = in_folder("none/a.json");

	assert_int_equal(output_probe(good), 0);
	assert_int_equal(count_files(), 0);
	assert_int_equal(output_probe(bad), -ENOENT);
	free(good);
	free(bad);
}

static void names_that_are_no_files_are_refused(void **state)
{
	char *pipe_path = in_folder("pipe.json");

	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	assert_int_equal(open_in_folder("", &(struct output){0}), -EISDIR);
	assert_int_equal(open_in_folder(".", &(struct output){0}), -EISDIR);
	assert_int_equal(write_new("pipe.json"), -EINVAL);
	make_old("file");
	assert_int_equal(write_new("file/a.json"), -ENOTDIR);
	free(pipe_path);
}

static void links_of_our_own_are_followed(void **state)
{
	char *inner = in_folder("inner");

	assert_int_equal(mkdir(inner, 0755), 0);
	make_link("relative.json", "inner/a.json", 0);
	make_link("dir", inner, 0);
	make_link("chain.json", "dir/b.json", 0);
	assert_int_equal(write_new("relative.json"), 0);
	assert_string_equal(content_of("inner/a.json"), "new");
	assert_true(S_ISLNK(status_of("relative.json").st_mode));
	assert_int_equal(write_new("chain.json"), 0);
	assert_string_equal(content_of("inner/b.json"), "new");
	free(inner);
}

static void a_link_of_a_stranger_is_not_followed(void **state)
{
	needs_root();
	make_old("victim");
	make_link("a.json", "victim", STRANGER);
	assert_int_equal(write_new("a.json"), -ELOOP);
	assert_string_equal(content_of("victim"), "old");
	assert_true(S_ISLNK(status_of("a.json").st_mode));
}

static void a_folder_behind_a_link_of_a_stranger_is_not_entered(void **state)
{
	char *inner = in_folder("inner");

	needs_root();
	assert_int_equal(mkdir(inner, 0755), 0);
	make_link("dir", "inner", STRANGER);
	make_link("mine", "dir", 0);
	assert_int_equal(write_new("dir/a.json"), -ELOOP);
	assert_int_equal(write_new("mine/a.json"), -ELOOP);
	assert_string_equal(content_of("inner/a.json"), "");
	free(inner);
}

static void links_in_a_circle_are_refused(void **state)
{
	make_link("a.json", "b.json", 0);
	make_link("b.json", "a.json", 0);
	assert_int_equal(write_new("a.json"), -ELOOP);
}

static void files_belong_to_the_user_who_called_sudo(void **state)
{
	needs_root();
	setenv("SUDO_UID", "4242", 1);
	setenv("SUDO_GID", "4343", 1);
	assert_int_equal(write_new("a.json"), 0);
	assert_int_equal(status_of("a.json").st_uid, 4242);
	assert_int_equal(status_of("a.json").st_gid, 4343);
}

static void links_of_the_user_who_called_sudo_are_followed(void **state)
{
	needs_root();
	setenv("SUDO_UID", "4242", 1);
	setenv("SUDO_GID", "4343", 1);
	make_link("a.json", "b.json", STRANGER);
	assert_int_equal(write_new("a.json"), 0);
	assert_string_equal(content_of("b.json"), "new");
}

static void nonsense_in_sudo_variables_changes_nothing(void **state)
{
	static const char *const bad[] = {"", "-1", "x", "4294967295", "99999999999999999999", "12 "};

	needs_root();
	setenv("SUDO_GID", "4343", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("SUDO_UID", bad[i], 1);
		assert_int_equal(write_new("a.json"), 0);
		assert_int_equal(status_of("a.json").st_uid, 0);
	}
}

static void a_temporary_log_vanishes_or_is_kept_under_a_name(void **state)
{
	struct log_file file;
	const char *where;
	char *kept;

	setenv("TMPDIR", folder, 1);
	assert_int_equal(log_file_open(NULL, &file, &where), 0);
	log_file_close(&file);
	assert_int_equal(count_files(), 0);
	assert_int_equal(log_file_open(NULL, &file, &where), 0);
	assert_int_equal(write(file.fd, "new", 3), 3);
	kept = xstrdup(log_file_name(&file));
	assert_int_equal(log_file_keep(&file), 0);
	assert_int_equal(log_file_keep(&file), 0);
	log_file_close(&file);
	unsetenv("TMPDIR");
	assert_int_equal(count_files(), 1);
	assert_string_equal(content_of(strrchr(kept, '/') + 1), "new");
	free(kept);
}

static void a_log_of_the_user_gets_its_name_when_kept(void **state)
{
	char *path = in_folder("a.gpt");
	struct log_file file;
	const char *where;

	assert_int_equal(log_file_open(path, &file, &where), 0);
	assert_int_equal(write(file.fd, "new", 3), 3);
	assert_string_equal(content_of("a.gpt"), "");
	assert_int_equal(log_file_keep(&file), 0);
	assert_string_equal(content_of("a.gpt"), "new");
	assert_int_equal(log_file_keep(&file), 0);
	log_file_close(&file);
	assert_int_equal(count_files(), 1);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(a_file_gets_its_name_when_it_is_whole),
		file_test(an_abandoned_file_leaves_nothing_behind),
		file_test(an_old_file_is_replaced),
		file_test(files_are_readable_as_the_umask_says),
		file_test(a_long_name_is_written_too),
		file_test(a_probe_says_what_opening_would_and_leaves_nothing),
		file_test(names_that_are_no_files_are_refused),
		file_test(links_of_our_own_are_followed),
		file_test(a_link_of_a_stranger_is_not_followed),
		file_test(a_folder_behind_a_link_of_a_stranger_is_not_entered),
		file_test(links_in_a_circle_are_refused),
		file_test(files_belong_to_the_user_who_called_sudo),
		file_test(links_of_the_user_who_called_sudo_are_followed),
		file_test(nonsense_in_sudo_variables_changes_nothing),
		file_test(a_temporary_log_vanishes_or_is_kept_under_a_name),
		file_test(a_log_of_the_user_gets_its_name_when_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
