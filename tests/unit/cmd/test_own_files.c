/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outputs with %p or %r in their names: the names of the files, and the rank of each. */
#include "model_of.h"
#include "rank_log.h"

#include "cmd/options/format.h"
#include "cmd/output/own_files.h"

static void assert_files(const struct rank *rank, const char *path, bool needs_rank, const char *expected,
			 int64_t expected_rank)
{
	struct log_builder log = {0};
	struct own_files files = {0};
	struct trace *trace;
	const char *why;
	int fd;

	log_rank(&log, rank);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(gpt_trace_open(fd, NULL, NULL, &trace, &why), 0);
	assert_int_equal(own_files_find(&files, trace, path, needs_rank), 0);
	assert_int_equal(files.list.count, expected ? 1 : 0);
	if (expected) {
		assert_string_equal(files.list.items[0].path, expected);
		assert_int_equal(files.list.items[0].rank.rank, expected_rank);
		assert_int_equal(files.list.items[0].rank.world, expected_rank < 0 ? 0 : 2);
	}
	own_files_free(&files);
	gpt_trace_close(trace);
	close(fd);
}

static void a_rank_that_is_known_names_its_file(void **state)
{
	const struct rank rank = RANK(1, "boot");

	assert_files(&rank, "trace-%r.json", false, "trace-1.json", 1);
	assert_files(&rank, "%r-of-%p.pftrace", false, "1-of-100.pftrace", 1);
}

static void a_process_of_which_no_rank_is_known_has_no_file_of_a_rank(void **state)
{
	const struct rank rank = RANK(1, "boot", .silent = true);

	assert_files(&rank, "trace-%r.json", false, NULL, -1);
	assert_files(&rank, "trace-%p.json", true, "trace-100.json", -1);
}

static void ranks_are_said_without_being_in_the_name_where_that_is_asked_for(void **state)
{
	const struct rank rank = RANK(1, "boot");

	assert_files(&rank, "trace-%p.json", true, "trace-100.json", 1);
	assert_files(&rank, "trace-%p.json", false, "trace-100.json", -1);
}

static void files_of_one_rank_have_names_of_their_own(void **state)
{
	char *first = format_path_for_rank("a-%r.json", 3, 1), *second = format_path_for_rank("a-%r.json", 3, 2);

	assert_string_equal(first, "a-3.json");
	assert_string_equal(second, "a-3.2.json");
	free(first);
	free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_is_known_names_its_file),
		cmocka_unit_test(a_process_of_which_no_rank_is_known_has_no_file_of_a_rank),
		cmocka_unit_test(ranks_are_said_without_being_in_the_name_where_that_is_asked_for),
		cmocka_unit_test(files_of_one_rank_have_names_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
