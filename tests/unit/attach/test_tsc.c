/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conversion of a counter's ticks to the time of a clock that is steered meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/clients/tsc.h"

#define S 1000000000ull

/* A clock that has these pairs. */
static struct tsc_clock clock_of(const struct tsc_pair *pairs, size_t count)
{
	struct tsc_clock clock = {0};

	for (size_t i = 0; i < count; i++)
		tsc_clock_add(&clock, pairs[i]);
	return clock;
}

static void a_reading_lies_on_the_line_between_the_pairs_around_it(void **state)
{
	const struct tsc_pair pairs[] = {{3 * S, 1 * S, 5}, {6 * S, 2 * S, 7}, {12 * S, 3 * S, 1}};
	struct tsc_clock clock = clock_of(pairs, 3);
	uint64_t first[2] = {3300000000, 3600000000}, second[2] = {9 * S, 9 * S + 600}, edge[2] = {6 * S, 6 * S},
		 error = 0;

	assert_true(tsc_clock_convert(&clock, first, &error));
	assert_int_equal(first[0], 1100000000);
	assert_int_equal(first[1], 1200000000);
	assert_true(tsc_clock_convert(&clock, second, &error));
	assert_int_equal(second[0], 2500000000);
	assert_int_equal(second[1], 2500000100);
	assert_true(tsc_clock_convert(&clock, edge, &error));
	assert_int_equal(edge[0], 2 * S);
	tsc_clock_free(&clock);
}

static void a_pair_in_the_middle_of_something_does_not_change_its_length(void **state)
{
	/* the second pair is 15 ns late, and the third lies between the two times */
	const struct tsc_pair pairs[] = {
		{3 * S, 1 * S, 20}, {6000000300, 2 * S + 115, 20}, {6000000600, 2 * S + 200, 20}, {9 * S, 3 * S, 20}};
	struct tsc_clock clock = clock_of(pairs, 4);
	uint64_t times[2] = {6000000350, 6000000900}, error = 0;

	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_in_range(times[1] - times[0], 182, 184);
	assert_in_range(times[0], 2 * S + 100, 2 * S + 150);
	tsc_clock_free(&clock);
}

static void something_long_ends_where_the_clock_says(void **state)
{
	/* its rate changes by 1 %: with the length computed by the rate at the start, the end would be 10 ms off */
	const struct tsc_pair pairs[] = {
		{3 * S, 1 * S, 5}, {6 * S, 2 * S, 5}, {9 * S, 3010000000, 5}, {12 * S, 4020000000, 5}};
	struct tsc_clock clock = clock_of(pairs, 4);
	uint64_t times[2] = {3 * S, 10500000000}, error = 0;

	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_int_equal(times[0], 1 * S);
	assert_int_equal(times[1], 3515000000);
	tsc_clock_free(&clock);
}

static void the_bound_holds_the_samples_width_and_the_bend_of_the_clock(void **state)
{
	const struct tsc_pair straight[] = {{3000, 1000, 5}, {6000, 2000, 7}, {9000, 3000, 1}};
	const struct tsc_pair bent[] = {{3000, 1000, 5}, {6000, 2040, 7}, {9000, 3000, 1}};
	struct tsc_clock clock = clock_of(straight, 3);
	uint64_t times[2] = {3300, 3300}, error = 0;

	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_int_equal(error, 7);
	tsc_clock_free(&clock);
	clock = clock_of(bent, 3);
	times[0] = times[1] = 3300;
	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_int_equal(error, 47);
	times[0] = times[1] = 3300;
	error = 90; /* the error of something else: it is not lowered */
	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_int_equal(error, 90);
	tsc_clock_free(&clock);
}

static void what_lies_outside_the_run_is_not_converted(void **state)
{
	const struct tsc_pair pairs[] = {{3000, 1000, 5}, {6000000, 2000000, 7}};
	struct tsc_clock clock = clock_of(pairs, 2), empty = {0}, single = clock_of(pairs, 1);
	uint64_t before[2] = {2999, 3001}, far[2] = {6000000, 9000300}, reversed[2] = {5000, 4000},
		 in[2] = {4500, 6000};
	uint64_t endless[2] = {4000, UINT64_MAX}, error = 0;

	assert_false(tsc_clock_convert(&clock, before, &error));
	assert_false(tsc_clock_convert(&clock, far, &error));
	assert_false(tsc_clock_convert(&clock, reversed, &error));
	assert_false(tsc_clock_convert(&clock, endless, &error));
	assert_false(tsc_clock_convert(&empty, in, &error));
	assert_false(tsc_clock_convert(&single, in, &error));
	assert_int_equal(error, 0);
	assert_int_equal(endless[0], 4000);
	assert_true(tsc_clock_convert(&clock, in, &error));
	tsc_clock_free(&clock);
	tsc_clock_free(&single);
}

static void a_little_into_the_future_is_within_its_bound(void **state)
{
	const struct tsc_pair pairs[] = {{3000, 1000, 5}, {3000000, 1000000, 9}, {6000000, 2000000, 7}};
	struct tsc_clock clock = clock_of(pairs, 3);
	uint64_t times[2] = {5999700, 6300000}, error = 0;

	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_int_equal(times[0], 1999900);
	assert_int_equal(times[1], 2100000);
	assert_int_equal(error, 7 + 100000 / 2000);
	tsc_clock_free(&clock);
}

static void pairs_that_run_backwards_are_left_out(void **state)
{
	const struct tsc_pair pairs[] = {
		{3000, 1000, 5}, {3000, 1500, 5}, {2000, 1600, 5}, {4000, 900, 5}, {6000, 2000, 7}};
	struct tsc_clock clock = clock_of(pairs, 5);

	assert_int_equal(clock.pairs.count, 2);
	tsc_clock_free(&clock);
}

static void a_long_trace_keeps_its_whole_length_in_bounded_memory(void **state)
{
	struct tsc_clock clock = {0};
	uint64_t early[2], late[2], error = 0;

	for (uint64_t i = 0; i < 100000; i++)
		tsc_clock_add(&clock, (struct tsc_pair){3 * (i + 1) * S / 4, (i + 1) * S / 4, 10});
	assert_in_range(clock.pairs.count, 2000, 4096);
	early[0] = early[1] = 3 * 100 * S;
	late[0] = late[1] = 3 * 24999 * S + 300;
	assert_true(tsc_clock_convert(&clock, early, &error));
	assert_int_equal(early[0], 100 * S);
	assert_true(tsc_clock_convert(&clock, late, &error));
	assert_int_equal(late[0], 24999 * S + 100);
	tsc_clock_free(&clock);
}

static void this_machines_counter_agrees_with_its_clock(void **state)
{
	struct tsc_clock clock = {0};
	uint64_t times[2], error = 0;

	if (tsc_unfit())
		skip();
	tsc_clock_sample(&clock);
	times[0] = tsc_now();
	for (int i = 0; i < 1000; i++)
		tsc_clock_sample(&clock);
	times[1] = tsc_now();
	tsc_clock_sample(&clock);
	assert_true(tsc_clock_convert(&clock, times, &error));
	assert_in_range(times[0], clock.pairs.items[0].mono_ns, clock.pairs.items[1].mono_ns);
	assert_in_range(times[1], clock.pairs.items[clock.pairs.count - 2].mono_ns,
			clock.pairs.items[clock.pairs.count - 1].mono_ns);
	tsc_clock_free(&clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_lies_on_the_line_between_the_pairs_around_it),
		cmocka_unit_test(a_pair_in_the_middle_of_something_does_not_change_its_length),
		cmocka_unit_test(something_long_ends_where_the_clock_says),
		cmocka_unit_test(the_bound_holds_the_samples_width_and_the_bend_of_the_clock),
		cmocka_unit_test(what_lies_outside_the_run_is_not_converted),
		cmocka_unit_test(a_little_into_the_future_is_within_its_bound),
		cmocka_unit_test(pairs_that_run_backwards_are_left_out),
		cmocka_unit_test(a_long_trace_keeps_its_whole_length_in_bounded_memory),
		cmocka_unit_test(this_machines_counter_agrees_with_its_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
