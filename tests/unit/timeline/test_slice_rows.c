/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows for slices that overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/rows/slice_rows.h"

static const struct tally_key one = {{1}}, two = {{2}};

static void what_overlaps_takes_the_next_row_and_what_follows_the_first(void **state)
{
	struct slice_rows rows = {0};

	assert_int_equal(slice_rows_place(&rows, one, 10, 20), 0);
	assert_int_equal(slice_rows_place(&rows, one, 15, 40), 1);
	assert_int_equal(slice_rows_place(&rows, one, 20, 30), 0); /* begins where the first ended */
	assert_int_equal(slice_rows_place(&rows, one, 25, 30), 2);
	assert_int_equal(rows.all.items[2].number, 2);
	assert_int_equal(rows.all.items[2].first, 0);
	slice_rows_free(&rows);
}

static void each_key_has_rows_of_its_own(void **state)
{
	struct slice_rows rows = {0};

	assert_int_equal(slice_rows_first(&rows, two), ROW_NONE);
	assert_int_equal(slice_rows_place(&rows, one, 10, 20), 0);
	assert_int_equal(slice_rows_place(&rows, two, 10, 20), 1);
	assert_int_equal(slice_rows_place(&rows, one, 10, 20), 2);
	assert_int_equal(slice_rows_first(&rows, one), 0);
	assert_int_equal(slice_rows_first(&rows, two), 1);
	assert_int_equal(rows.all.items[1].number, 0);
	assert_int_equal(rows.all.items[2].first, 0);
	slice_rows_free(&rows);
}

static void beyond_the_last_row_there_is_no_place(void **state)
{
	struct slice_rows rows = {0};

	for (uint32_t i = 0; i < ROWS_MAX; i++)
		assert_int_equal(slice_rows_place(&rows, one, 10, 1000), i);
	assert_int_equal(slice_rows_place(&rows, one, 11, 12), ROW_NONE);
	assert_int_equal(slice_rows_place(&rows, one, 1000, 1001), 0);
	slice_rows_free(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_overlaps_takes_the_next_row_and_what_follows_the_first),
		cmocka_unit_test(each_key_has_rows_of_its_own),
		cmocka_unit_test(beyond_the_last_row_there_is_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
