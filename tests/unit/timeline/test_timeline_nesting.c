/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order in which slices of a part nest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "timeline/rows/nesting.h"

#define SLICES 20000u

static int by_nesting(const void *left, const void *right, void *context)
{
	const struct nested *slices = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (slices[a].track != slices[b].track)
		return slices[a].track < slices[b].track ? -1 : 1;
	if (slices[a].start_ns != slices[b].start_ns)
		return slices[a].start_ns < slices[b].start_ns ? -1 : 1;
	if (slices[a].end_ns != slices[b].end_ns)
		return slices[a].end_ns > slices[b].end_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void assert_in_order(struct nesting *nesting)
{
	size_t count = nesting->slices.count;
	uint32_t *expected = xcalloc(count + 1, sizeof(*expected));

	for (uint32_t i = 0; i < count; i++)
		expected[i] = i;
	qsort_r(expected, count, sizeof(*expected), by_nesting, nesting->slices.items);
	nesting_sort(nesting);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(nesting_place(nesting, i), expected[i]);
	free(expected);
}

static void slices_follow_those_around_them(void **state)
{
	static const struct nested came[] = {
		{.track = 1, .start_ns = 10, .end_ns = 20}, {.track = 0, .start_ns = 5, .end_ns = 6},
		{.track = 1, .start_ns = 10, .end_ns = 90}, {.track = 1, .start_ns = 2, .end_ns = 3},
		{.track = 1, .start_ns = 10, .end_ns = 20}, {.track = 0, .start_ns = 5, .end_ns = UINT64_MAX},
	};
	static const size_t order[] = {5, 1, 3, 2, 0, 4};
	struct nesting nesting = {0};

	for (size_t i = 0; i < sizeof(came) / sizeof(came[0]); i++)
		nesting_add(&nesting, came[i].track, came[i].start_ns, came[i].end_ns);
	nesting_sort(&nesting);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_int_equal(nesting_place(&nesting, i), order[i]);
	assert_int_equal(nesting_at(&nesting, 2)->start_ns, 2);
	nesting_free(&nesting);
}

static void any_number_on_any_tracks_is_sorted_part_after_part(void **state)
{
	struct nesting nesting = {0};

	srand(7);
	for (uint32_t part = 0; part < 4; part++) {
		for (uint32_t i = 0; i < (part == 2 ? 0 : SLICES); i++) {
			uint64_t start_ns = part ? (uint64_t)rand() % 900 : i;

			nesting_add(&nesting, (uint32_t)rand() % (1 + 40 / (part + 1)), start_ns,
				    start_ns + (uint64_t)rand() % 3);
		}
		assert_in_order(&nesting);
		nesting_clear(&nesting);
	}
	nesting_free(&nesting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_follow_those_around_them),
		cmocka_unit_test(any_number_on_any_tracks_is_sorted_part_after_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
