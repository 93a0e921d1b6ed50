/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of --rotate: what their ends count, and their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/record/rotated_files.h"
#include "own_folder.h"

#define SECOND_NS 1000000000ull
#define START_NS (1000 * SECOND_NS)

static struct history *history;
static struct rotated_files *files;
static struct rotation_options rotation;

static int begin(void **state)
{
	static char path[128];
	int status = make_folder(state);

	snprintf(path, sizeof(path), "%s/all.gpt", folder);
	history = history_new(10 * SECOND_NS);
	files = rotated_files_new(path, 0, history);
	rotation = rotated_files_options(files, 1, 0);
	return status;
}

static int end(void **state)
{
	rotated_files_free(files);
	history_free(history);
	return remove_folder(state);
}

/* So many seconds of a recording, with a loss in each. */
static void note_seconds(unsigned first, unsigned last)
{
	for (unsigned second = first; second <= last; second++) {
		struct history_counts counts = {.at_ns = START_NS + second * SECOND_NS, .wall_offset_ns = 7};

		counts.counters[GPT_COUNTER_CALLS_LOST] = second;
		history_note(history, &counts);
	}
}

static uint64_t losses_of(uint64_t start_ns, uint64_t end_ns)
{
	struct gpt_end *made = rotation.make_end(files, start_ns, end_ns);
	uint64_t lost = made->counters[GPT_COUNTER_CALLS_LOST];

	free(made);
	return lost;
}

/* The first one ends when the second one has gone on for a second. */
static void a_loss_counts_in_one_file(void **state)
{
	uint64_t middle_ns = START_NS + 5 * SECOND_NS;
	int first, second;

	assert_false(rotation.has_begun(files));
	note_seconds(0, 5);
	assert_true(rotation.has_begun(files));
	first = rotation.open(files);
	second = rotation.open(files);
	assert_true(first >= 0 && second >= 0);
	assert_int_equal(rotation.begin(files, middle_ns), 7);
	note_seconds(6, 6);
	assert_int_equal(losses_of(START_NS, middle_ns), 5);
	rotation.close(files, first, true);
	note_seconds(7, 9);
	assert_int_equal(losses_of(middle_ns, START_NS + 9 * SECOND_NS), 4);
	rotation.close(files, second, true);
}

/* None of them has its name before all are open. */
static void files_of_one_second_replace_none_of_each_other(void **state)
{
	char *path = in_folder("all.gpt");
	struct rotated_files *others = rotated_files_new(path, 0, history);
	int fds[2], other;

	for (unsigned i = 0; i < 2; i++)
		fds[i] = rotation.open(files);
	other = rotation.open(others);
	assert_true(fds[0] >= 0 && fds[1] >= 0 && other >= 0);
	rotation.close(files, fds[0], true);
	rotation.close(others, other, true);
	rotation.close(files, fds[1], true);
	assert_int_equal(count_matching("all.*.gpt"), 3);
	assert_int_equal(count_files(), 3);
	rotated_files_free(others);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_loss_counts_in_one_file, begin, end),
		cmocka_unit_test_setup_teardown(files_of_one_second_replace_none_of_each_other, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
