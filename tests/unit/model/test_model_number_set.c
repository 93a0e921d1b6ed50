/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sparse sets of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number_set.h"

static void what_was_added_is_in_it_and_nothing_else(void **state)
{
	const uint64_t added[] = {0, 63, 64, 511, 512, 100000};
	struct number_set set = {0};
	uint64_t found = 0;

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		number_set_add(&set, added[sizeof(added) / sizeof(added[0]) - 1 - i]);
	for (uint64_t number = 0; number < 200000; number++)
		found += number_set_has(&set, number);
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		assert_true(number_set_has(&set, added[i]));
	assert_int_equal(found, sizeof(added) / sizeof(added[0]));
	number_set_free(&set);
}

static void numbers_that_were_never_reported_are_not_in_it(void **state)
{
	struct number_set set = {0};

	assert_false(number_set_has(&set, 0));
	assert_false(number_set_has(&set, UINT64_MAX));
}

static void it_is_small_where_few_are_in_it(void **state)
{
	struct number_set set = {0};

	for (uint64_t number = 0; number < 1000000; number += 100000)
		number_set_add(&set, number);
	assert_int_equal(set.pages.count, 10);
	number_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_in_it_and_nothing_else),
		cmocka_unit_test(numbers_that_were_never_reported_are_not_in_it),
		cmocka_unit_test(it_is_small_where_few_are_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
