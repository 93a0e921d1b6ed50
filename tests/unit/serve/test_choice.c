/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which windows are summed up: all that the limit has room for, else as many as it has, and none is preferred. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/choice.h"

#define MS_NS 1000000ull
#define WINDOW_NS (10000 * MS_NS)
#define LIMIT 200u /* 0.2 %: 20 ms of such a window */

static void test_all_are_summed_up_while_that_is_below_the_limit(void **state)
{
	struct window_choice choice = {.limit = LIMIT, .random = 1};

	for (int i = 0; i < 1000; i++) {
		assert_true(window_choose(&choice, WINDOW_NS));
		window_took(&choice, i % 2 ? 15 * MS_NS : 20 * MS_NS);
	}
}

/* Windows that differ by half, as those of a program do. */
static void test_what_is_taken_stays_at_the_limit_however_much_a_window_takes(void **state)
{
	static const uint64_t took_ms[] = {21, 40, 100, 190};

	for (unsigned i = 0; i < sizeof(took_ms) / sizeof(took_ms[0]); i++) {
		struct window_choice choice = {.limit = LIMIT, .random = 99};
		uint64_t taken_ns = 0, windows = 20000;

		for (uint64_t k = 0; k < windows; k++) {
			uint64_t cpu_ns = took_ms[i] * MS_NS * (k % 2 ? 2 : 4) / 3;

			if (!window_choose(&choice, WINDOW_NS))
				continue;
			window_took(&choice, cpu_ns);
			taken_ns += cpu_ns;
		}
		assert_in_range(taken_ns / windows, 18 * MS_NS, 22 * MS_NS);
	}
}

/* A program whose every fourth window is another: of both the same part is chosen. */
static void test_no_kind_of_window_is_preferred(void **state)
{
	struct window_choice choice = {.limit = LIMIT, .random = 7};
	unsigned chosen[2] = {0};

	for (unsigned i = 0; i < 40000; i++) {
		if (!window_choose(&choice, WINDOW_NS))
			continue;
		chosen[i % 4 == 0]++;
		window_took(&choice, i % 4 ? 60 * MS_NS : 140 * MS_NS);
	}
	assert_in_range(100 * 3 * chosen[1] / chosen[0], 93, 107);
}

static void test_one_in_ten_is_summed_up_at_any_cost_and_all_again_afterwards(void **state)
{
	struct window_choice choice = {.limit = LIMIT, .random = 3};
	unsigned chosen = 0;

	window_took(&choice, 5000 * MS_NS);
	for (unsigned i = 0; i < 10000; i++)
		chosen += window_choose(&choice, WINDOW_NS);
	assert_in_range(chosen, 900, 1100);
	for (unsigned i = 0; i < 40; i++)
		window_took(&choice, MS_NS);
	for (unsigned i = 0; i < 100; i++)
		assert_true(window_choose(&choice, WINDOW_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_summed_up_while_that_is_below_the_limit),
		cmocka_unit_test(test_what_is_taken_stays_at_the_limit_however_much_a_window_takes),
		cmocka_unit_test(test_no_kind_of_window_is_preferred),
		cmocka_unit_test(test_one_in_ten_is_summed_up_at_any_cost_and_all_again_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
