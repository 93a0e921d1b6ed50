/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* At which instant a recording begins, and what happens if set-up is late or the wall clock is set meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/start.h"

#define MS 1000000ll
#define SECOND (1000 * MS)

/* Now on both clocks: CLOCK_MONOTONIC is at 100 s, the wall clock at 5000 s. */
#define NOW (100 * SECOND)
#define OFFSET (4900 * SECOND)

static struct start begin(struct start_request request)
{
	struct start start;

	start_prepare(&start, &request, NOW, OFFSET);
	return start;
}

static struct start at_time(int64_t in_ns)
{
	return begin((struct start_request){.kind = START_AT_TIME, .wall_ns = NOW + OFFSET + in_ns});
}

static void it_begins_as_soon_as_everything_is_set_up(void **state)
{
	struct start start = begin((struct start_request){.kind = START_WHEN_READY});

	assert_int_equal(start_check(&start, false, NOW + MS, OFFSET), 0);
	assert_int_equal(start_check(&start, true, NOW + 2 * MS, OFFSET), NOW + 2 * MS);
	assert_int_equal(start.ready_ns, NOW + 2 * MS);
	assert_int_equal(start.late_ns, 0);
}

static void it_begins_at_the_very_moment_however_late_that_is_noticed(void **state)
{
	struct start start = at_time(500 * MS);

	assert_int_equal(start.at_ns, NOW + 500 * MS);
	assert_int_equal(start_check(&start, true, NOW + 10 * MS, OFFSET), 0);
	assert_int_equal(start_check(&start, true, NOW + 499 * MS, OFFSET), 0);
	assert_int_equal(start_check(&start, true, NOW + 519 * MS, OFFSET), NOW + 500 * MS);
	assert_int_equal(start.late_ns, 0);
}

static void it_follows_a_clock_that_is_slewed(void **state)
{
	struct start start = at_time(500 * MS);

	assert_int_equal(start_check(&start, true, NOW + 10 * MS, OFFSET + MS / 2), 0);
	assert_int_equal(start.at_ns, NOW + 500 * MS - MS / 2);
	assert_int_equal(start_check(&start, true, NOW + 500 * MS, OFFSET + MS / 2), NOW + 500 * MS - MS / 2);
	assert_int_equal(start.stepped_ns, 0);
}

static void set_up_that_is_late_begins_the_recording_and_says_by_how_much(void **state)
{
	struct start start = at_time(100 * MS);

	assert_int_equal(start_check(&start, false, NOW + 90 * MS, OFFSET), 0);
	assert_int_equal(start_check(&start, false, NOW + 290 * MS, OFFSET), 0);
	assert_int_equal(start_check(&start, true, NOW + 300 * MS, OFFSET), NOW + 300 * MS);
	assert_int_equal(start.late_ns, 200 * MS);
	assert_true(start.ready_ns > start.at_ns);
}

static void a_multiple_that_set_up_misses_is_skipped(void **state)
{
	struct start start = begin((struct start_request){
		.kind = START_AT_MULTIPLE, .period_ns = SECOND, .wall_ns = start_next_multiple(NOW + OFFSET, SECOND)});

	assert_int_equal(start.at_ns, NOW + SECOND);
	assert_int_equal(start_check(&start, false, NOW + 990 * MS, OFFSET), 0);
	assert_int_equal(start_check(&start, true, NOW + 1200 * MS, OFFSET), 0);
	assert_int_equal(start.skipped, 1);
	assert_int_equal(start_check(&start, true, NOW + 2010 * MS, OFFSET), NOW + 2 * SECOND);
	assert_int_equal(start.late_ns, 0);
}

static void a_multiple_is_the_next_one_also_on_it(void **state)
{
	assert_int_equal(start_next_multiple(5000 * SECOND, 10 * SECOND), 5010 * SECOND);
	assert_int_equal(start_next_multiple(5000 * SECOND - 1, 10 * SECOND), 5000 * SECOND);
}

static void a_clock_set_beyond_the_moment_begins_it_not_before_what_was_left_out(void **state)
{
	struct start start = at_time(10 * SECOND);

	assert_int_equal(start_check(&start, true, NOW + 20 * MS, OFFSET), 0);
	/* one minute forward: the moment is past, and until the last check nothing was of the recording */
	assert_int_equal(start_check(&start, true, NOW + 40 * MS, OFFSET + 60 * SECOND), NOW + 20 * MS);
	assert_int_equal(start.stepped_ns, 60 * SECOND);
	assert_int_equal(start.late_ns, 50 * SECOND + 20 * MS);
}

static void a_clock_set_back_waits_for_the_moment_or_the_next_multiple(void **state)
{
	struct start start = at_time(SECOND),
		     multiple =
			     begin((struct start_request){.kind = START_AT_MULTIPLE,
							  .period_ns = 10 * SECOND,
							  .wall_ns = start_next_multiple(NOW + OFFSET, 10 * SECOND)});

	assert_int_equal(start_check(&start, true, NOW + 1500 * MS, OFFSET - 60 * SECOND), 0);
	assert_int_equal(start.at_ns, NOW + 61 * SECOND);
	assert_int_equal(start_check(&multiple, true, NOW + MS, OFFSET - 60 * SECOND), 0);
	assert_int_equal(multiple.at_ns, NOW + 10 * SECOND);
}

static void a_time_from_now_does_not_follow_the_wall_clock(void **state)
{
	struct start start = begin((struct start_request){.kind = START_AFTER, .mono_ns = NOW + SECOND});

	assert_int_equal(start_check(&start, true, NOW + 10 * MS, OFFSET + 60 * SECOND), 0);
	assert_int_equal(start_check(&start, true, NOW + 1001 * MS, OFFSET + 60 * SECOND), NOW + SECOND);
	assert_int_equal(start.stepped_ns, 0);
	assert_int_equal(start_moment_wall(&start), NOW + SECOND + OFFSET + 60 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_as_soon_as_everything_is_set_up),
		cmocka_unit_test(it_begins_at_the_very_moment_however_late_that_is_noticed),
		cmocka_unit_test(it_follows_a_clock_that_is_slewed),
		cmocka_unit_test(set_up_that_is_late_begins_the_recording_and_says_by_how_much),
		cmocka_unit_test(a_multiple_that_set_up_misses_is_skipped),
		cmocka_unit_test(a_multiple_is_the_next_one_also_on_it),
		cmocka_unit_test(a_clock_set_beyond_the_moment_begins_it_not_before_what_was_left_out),
		cmocka_unit_test(a_clock_set_back_waits_for_the_moment_or_the_next_multiple),
		cmocka_unit_test(a_time_from_now_does_not_follow_the_wall_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
