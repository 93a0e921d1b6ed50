/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Searches and orders of arrays (base/array.h, base/order.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/order.h"

struct item {
	uint64_t ns;
	int64_t offset;
	double mean;
};

static const struct item table[] = {{5, -2, 0.5}, {7, 3, 0.25}, {5, -9, 0}};

DEFINE_ORDER(by_time, struct item, most_first(a->ns, b->ns) ?: lower_first(a->offset, b->offset))
DEFINE_ORDER(by_mean, struct item *const, higher_first((*a)->mean, (*b)->mean))

static void the_first_item_that_fits_is_found(void **state)
{
	assert_ptr_equal(table_find(table, item, item->ns == 5), &table[0]);
	assert_ptr_equal(table_find(table, item, item->offset > 0), &table[1]);
	assert_null(table_find(table, item, item->ns == 6));
}

static void an_empty_array_has_no_item_and_all_of_it_fit(void **state)
{
	ARRAY(struct item) empty = {0};

	assert_null(array_find(&empty, item, item->ns == 0));
	assert_false(any_of(empty.count, i, true));
	assert_true(every_of(empty.count, i, false));
}

static void a_search_ends_with_what_it_finds(void **state)
{
	unsigned asked = 0;

	assert_true(any_of(3, i, (asked++, table[i].ns == 7)));
	assert_int_equal(asked, 2);
	assert_false(every_of(3, i, (asked++, table[i].ns == 5)));
	assert_int_equal(asked, 4);
	assert_true(every_of(3, i, table[i].ns >= 5));
}

static void the_first_order_decides_and_the_next_one_where_it_does_not(void **state)
{
	ARRAY(struct item) list = {0};

	for (size_t i = 0; i < 3; i++)
		array_push(&list, table[i]);
	array_sort(&list, by_time);
	assert_int_equal(list.items[0].ns, 7);
	assert_int_equal(list.items[1].offset, -9);
	assert_int_equal(list.items[2].offset, -2);
	array_free(&list);
	array_sort(&list, by_time); /* of no items */
}

static void pointers_are_ordered_by_what_they_point_to(void **state)
{
	const struct item *list[] = {&table[1], &table[0]};

	sort_items(list, 2, sizeof(list[0]), by_mean);
	assert_ptr_equal(list[0], &table[0]);
	assert_int_equal(by_mean(&list[0], &list[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_item_that_fits_is_found),
		cmocka_unit_test(an_empty_array_has_no_item_and_all_of_it_fit),
		cmocka_unit_test(a_search_ends_with_what_it_finds),
		cmocka_unit_test(the_first_order_decides_and_the_next_one_where_it_does_not),
		cmocka_unit_test(pointers_are_ordered_by_what_they_point_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
