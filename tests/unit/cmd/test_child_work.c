/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work that ends its process at one part: the other parts are done, each once, and the part is named. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/process/child_work.h"
#include "cmd/output/output.h"
#include "own_folder.h"

#define PARTS 5
#define BEFORE PARTS /* outside of parts */
#define RESULT 42

/* Shared with the children. */
static struct counts {
	unsigned done[PARTS], children, cleaned;
	pid_t parent;
} * counts;

/* What each part does, and what comes before the parts. */
static void (*plan[PARTS + 1])(void);

static void crash_child(void)
{
	(void)raise(SIGABRT);
}

static void be_killed(void)
{
	(void)raise(SIGKILL);
}

static void leave_child(void)
{
	exit(3);
}

static void leave_half_a_file(void)
{
	char *path = in_folder("half.json");
	struct output output;

	assert_int_equal(output_open(path, &output), 0);
	(void)raise(SIGKILL);
}

static int run_child(struct child_work *work, void *context)
{
	static const char *const names[PARTS] = {"part 0", "part 1", "part 2", "part 3", "part 4"};

	counts->children++;
	assert_int_not_equal(getpid(), counts->parent);
	if (plan[BEFORE])
		plan[BEFORE]();
	for (unsigned i = 0; i < PARTS; i++) {
		if (!child_work_begins(work, names[i]))
			continue;
		if (plan[i])
			plan[i]();
		counts->done[i]++;
	}
	return RESULT;
}

static void clean_parts(void *context)
{
	char *path = in_folder("anything");

	counts->cleaned++;
	output_remove_marked(path);
	free(path);
}

/* Runs it; *said: what it printed, which the caller frees. */
static int run_all(bool *all, char **said)
{
	const struct child_job job = {.run = run_child, .clean = clean_parts, .name = "the work"};
	int old = dup(STDERR_FILENO), fd = memfd_create("said", MFD_CLOEXEC), result;
	off_t size;

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(counts, MAP_FAILED);
	counts->parent = getpid();
	output_mark();
	dup2(fd, STDERR_FILENO);
	result = child_work_run(&job, all);
	dup2(old, STDERR_FILENO);
	close(old);
	size = lseek(fd, 0, SEEK_END);
	*said = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(fd, *said, (size_t)size, 0), size);
	close(fd);
	return result;
}

static void work_that_succeeds_is_done_once_by_one_child(void **state)
{
	char *said;
	bool all;

	assert_int_equal(run_all(&all, &said), RESULT);
	assert_true(all);
	assert_string_equal(said, "");
	for (unsigned i = 0; i < PARTS; i++)
		assert_int_equal(counts->done[i], 1);
	assert_int_equal(counts->children, 1);
	free(said);
}

static void every_part_but_those_that_end_the_child_is_done_once(void **state)
{
	void (*const ends[])(void) = {crash_child, be_killed, leave_child};
	char *said;
	bool all;

	/* each set of parts that end the child */
	for (unsigned ending = 1; ending < 1u << PARTS; ending++) {
		unsigned deaths = 0;

		for (unsigned i = 0; i < PARTS; i++) {
			plan[i] = ending >> i & 1 ? ends[i % 3] : NULL;
			deaths += ending >> i & 1;
		}
		assert_int_equal(run_all(&all, &said), RESULT);
		assert_false(all);
		for (unsigned i = 0; i < PARTS; i++) {
			char name[32];

			snprintf(name, sizeof(name), "part %u: not made: ", i);
			assert_int_equal(counts->done[i], !(ending >> i & 1));
			assert_int_equal(!!strstr(said, name), ending >> i & 1);
		}
		assert_int_equal(counts->children, deaths + 1);
		assert_int_equal(counts->cleaned, deaths);
		free(said);
	}
	memset(plan, 0, sizeof(plan));
}

static void each_end_has_its_reason(void **state)
{
	char *said;
	bool all;

	plan[0] = crash_child;
	plan[1] = be_killed;
	plan[2] = leave_child;
	assert_int_equal(run_all(&all, &said), RESULT);
	assert_non_null(strstr(said,
			       "part 0: not made: gputrace crashed over it (signal 6, Aborted): report the crash, with "
			       "the log\n"));
	assert_non_null(strstr(said,
			       "part 1: not made: gputrace was killed over it (SIGKILL), as the kernel does where "
			       "memory runs out: make it from the log where there is more\n"));
	assert_non_null(
		strstr(said, "part 2: not made: gputrace ended over it with status 3: the lines above say why\n"));
	free(said);
	memset(plan, 0, sizeof(plan));
}

static void work_that_ends_outside_of_parts_is_not_begun_for_ever(void **state)
{
	char *said;
	bool all;

	plan[BEFORE] = crash_child;
	assert_int_equal(run_all(&all, &said), -1);
	assert_false(all);
	assert_int_equal(counts->children, 1);
	assert_non_null(strstr(said, "the work: not read: gputrace crashed over it"));
	free(said);
	memset(plan, 0, sizeof(plan));
}

static void a_file_that_is_half_written_when_its_part_ends_is_removed_and_no_other(void **state)
{
	char *other = in_folder("other.json.part-0123456700"), *said;
	FILE *file = fopen(other, "w");
	bool all;

	assert_non_null(file);
	fclose(file);
	plan[1] = leave_half_a_file;
	assert_int_equal(run_all(&all, &said), RESULT);
	assert_false(all);
	assert_int_equal(count_files(), 1);
	assert_int_equal(access(other, F_OK), 0);
	free(said);
	free(other);
	memset(plan, 0, sizeof(plan));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_that_succeeds_is_done_once_by_one_child),
		file_test(every_part_but_those_that_end_the_child_is_done_once),
		file_test(each_end_has_its_reason),
		file_test(work_that_ends_outside_of_parts_is_not_begun_for_ever),
		file_test(a_file_that_is_half_written_when_its_part_ends_is_removed_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
