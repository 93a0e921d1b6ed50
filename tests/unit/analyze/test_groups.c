/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Group-bys: which rows are made of sums, in which order, and which line is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzed.h"
#include "analyze/sums/group.h"

/* Callers on three lines of the sample, the first one of the smallest number. */
struct setting {
	struct model *model;
	struct callers callers;
	struct lines lines;
	uint32_t caller[3], line[3];
};

static int set_up(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	unsigned found = 0;

	setting->model = sample_model(1, 2);
	callers_init(&setting->callers, setting->model);
	lines_make(&setting->lines, &setting->callers);
	for (uint32_t line = 0; line < setting->lines.all.count && found < 3; line++)
		for (uint32_t frame = 0; frame < setting->model->frame_count; frame++)
			if (line_of(&setting->lines, frame) == line) {
				setting->line[found] = line;
				setting->caller[found++] = frame;
				break;
			}
	assert_int_equal(found, 3);
	*state = setting;
	return 0;
}

static int take_down(void **state)
{
	struct setting *setting = *state;

	lines_free(&setting->lines);
	callers_free(&setting->callers);
	model_free(setting->model);
	free(setting);
	return 0;
}

static void add_times(struct group *group, uint32_t first, uint32_t second, uint32_t caller, uint64_t ns,
		      unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		group_add(group, (const uint32_t[2]){first, second}, caller, NONE, i ? 0 : ns, 1);
}

static void of_as_much_time_the_row_with_more_events_is_first_then_the_smaller_line(void **state)
{
	struct setting *setting = *state;
	struct group group = {0};

	add_times(&group, 1, 0, setting->caller[2], 10, 1);
	add_times(&group, 1, 0, setting->caller[1], 10, 1);
	add_times(&group, 0, 0, setting->caller[2], 10, 2);
	add_times(&group, 0, 0, setting->caller[0], 30, 1);
	group_finish(&group, &setting->lines, GROUP_BY_LINE);
	assert_int_equal(group.count, 4);
	assert_int_equal(group.ns, 60);
	assert_int_equal(group.events, 5);
	assert_int_equal(group.rows[0].line, setting->line[0]);
	assert_int_equal(group.rows[1].count, 2);
	assert_int_equal(group.rows[2].line, setting->line[1]);
	assert_int_equal(group.rows[3].line, setting->line[2]);
	assert_int_equal(group.rows[3].part[0], 1);
	group_free(&group);
}

static void rows_by_count_are_in_the_order_of_their_numbers_where_counts_are_equal(void **state)
{
	struct setting *setting = *state;
	struct group group = {0};

	add_times(&group, 7, 2, setting->caller[0], 0, 2);
	add_times(&group, 7, 1, setting->caller[1], 0, 2);
	add_times(&group, 5, 9, setting->caller[2], 0, 2);
	add_times(&group, 9, 9, setting->caller[2], 0, 3);
	group_finish(&group, &setting->lines, GROUP_BY_LINE_AND_COUNT);
	assert_int_equal(group.rows[0].part[0], 9);
	assert_int_equal(group.rows[1].part[0], 5);
	assert_int_equal(group.rows[2].part[1], 1);
	assert_int_equal(group.rows[3].part[1], 2);
	group_free(&group);
}

static void a_row_of_numbers_names_the_line_with_most_time_and_of_equal_ones_the_first(void **state)
{
	struct setting *setting = *state;
	struct group group = {0};

	add_times(&group, 1, 0, setting->caller[1], 10, 1); /* as much as the next, in fewer events */
	add_times(&group, 1, 0, setting->caller[0], 10, 4);
	add_times(&group, 2, 0, setting->caller[0], 10, 1);
	add_times(&group, 2, 0, setting->caller[2], 11, 1);
	group_finish(&group, &setting->lines, GROUP_BY_PARTS);
	assert_int_equal(group.count, 2);
	assert_int_equal(group.rows[0].part[0], 2);
	assert_int_equal(group.rows[0].ns, 21);
	assert_int_equal(group.rows[0].line, setting->line[2]);
	assert_int_equal(group.rows[1].line, setting->line[1]);
	assert_int_equal(group.rows[1].count, 5);
	assert_int_equal(group.rows[1].more, 5);
	group_free(&group);
}

static void without_times_it_names_the_line_with_most_events(void **state)
{
	struct setting *setting = *state;
	struct group group = {0};

	add_times(&group, 1, 0, setting->caller[1], 0, 1);
	add_times(&group, 1, 0, setting->caller[0], 0, 4);
	add_times(&group, 1, 0, setting->caller[2], 0, 4);
	group_finish(&group, &setting->lines, GROUP_BY_PARTS);
	assert_int_equal(group.count, 1);
	assert_int_equal(group.rows[0].line, setting->line[0]);
	group_free(&group);
}

static void operations_without_times_do_not_change_the_order_by_when_they_come(void **state)
{
	struct setting *setting = *state;
	const struct model_gpu timed = {.start_ns = 5, .end_ns = 15}, untimed = {0};
	uint32_t line[2];

	for (unsigned late = 0; late < 2; late++) {
		struct group group = {0};

		if (!late)
			group_add_gpu(&group, (const uint32_t[2]){1}, setting->caller[2], &untimed);
		group_add_gpu(&group, (const uint32_t[2]){1}, setting->caller[0], &timed);
		group_add_gpu(&group, (const uint32_t[2]){1}, setting->caller[2], &timed);
		if (late)
			group_add_gpu(&group, (const uint32_t[2]){1}, setting->caller[2], &untimed);
		group_finish(&group, &setting->lines, GROUP_BY_PARTS);
		line[late] = group.rows[0].line;
		group_free(&group);
	}
	assert_int_equal(line[0], line[1]);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, take_down)
	const struct CMUnitTest tests[] = {
		TEST(of_as_much_time_the_row_with_more_events_is_first_then_the_smaller_line),
		TEST(rows_by_count_are_in_the_order_of_their_numbers_where_counts_are_equal),
		TEST(a_row_of_numbers_names_the_line_with_most_time_and_of_equal_ones_the_first),
		TEST(without_times_it_names_the_line_with_most_events),
		TEST(operations_without_times_do_not_change_the_order_by_when_they_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
