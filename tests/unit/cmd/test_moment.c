/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments as people write them: which are accepted, and which time of a recording each is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "cmd/options/moment.h"

#define SECOND 1000000000ull
#define BOOT 5000ull

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* `seconds` long, starting `start_s` seconds after 1970-01-01; CLOCK_MONOTONIC began BOOT seconds before that. */
static struct moment_clock make_clock(int64_t start_s, uint64_t seconds)
{
	return (struct moment_clock){.start_ns = BOOT * SECOND,
				     .end_ns = (BOOT + seconds) * SECOND,
				     .wall_offset_ns = (start_s - (int64_t)BOOT) * (int64_t)SECOND};
}

/* In milliseconds since the start of the recording. */
static int64_t resolve_moment(const char *text, struct moment_clock clock)
{
	struct moment moment;

	assert_int_equal(moment_parse(text, &moment), 0);
	return ((int64_t)moment_resolve(&moment, &clock) - (int64_t)clock.start_ns) / 1000000;
}

/* 2026-11-22T14:00:00Z */
#define AFTERNOON 1795356000

static void times_since_the_start_have_units_or_minutes(void **state)
{
	struct moment_clock hour = make_clock(AFTERNOON, 3600);

	assert_int_equal(resolve_moment("0", hour), 0);
	assert_int_equal(resolve_moment("0s", hour), 0);
	assert_int_equal(resolve_moment("5", hour), 5000);
	assert_int_equal(resolve_moment("5s", hour), 5000);
	assert_int_equal(resolve_moment("500ms", hour), 500);
	assert_int_equal(resolve_moment("1.5m", hour), 90000);
	assert_int_equal(resolve_moment("1:30", hour), 90000);
	assert_int_equal(resolve_moment("90:05.25", hour), 5405250);
}

static void what_is_no_moment_is_refused(void **state)
{
	const char *const wrong[] = {"",
				     "-1",
				     "5x",
				     "1:60",
				     "1:3:5:7",
				     ":30",
				     "24:00:00",
				     "12:60:00",
				     "12:00:60",
				     "12:00:00.",
				     "12:00:00Y",
				     "12:00:00+1",
				     "2026-11-22",
				     "2026-13-01T00:00:00",
				     "2026-02-30T00:00:00",
				     "1969-01-01T00:00:00",
				     "2026-11-22T14:03",
				     "2026-11-22T14:03:20+19:00",
				     "1:30s",
				     "now"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct moment moment;

		if (moment_parse(wrong[i], &moment) != -EINVAL)
			fail_msg("'%s' was taken", wrong[i]);
	}
}

static void dates_are_local_unless_they_say_where(void **state)
{
	use_zone("XYZ-2");
	assert_int_equal(resolve_moment("2026-11-22T14:03:20Z", make_clock(AFTERNOON, 3600)), 200000);
	assert_int_equal(resolve_moment("2026-11-22T16:03:20", make_clock(AFTERNOON, 3600)), 200000);
	assert_int_equal(resolve_moment("2026-11-22 16:03:20.5", make_clock(AFTERNOON, 3600)), 200500);
	assert_int_equal(resolve_moment("2026-11-22T15:03:20+01:00", make_clock(AFTERNOON, 3600)), 200000);
	assert_int_equal(resolve_moment("2026-11-22T08:33:20-0530", make_clock(AFTERNOON, 3600)), 200000);
	assert_int_equal(resolve_moment("2026-11-22T13:00:00Z", make_clock(AFTERNOON, 3600)), -3600000);
}

static void a_time_of_day_is_one_of_the_recording(void **state)
{
	use_zone("XYZ-2");
	assert_int_equal(resolve_moment("16:03:20", make_clock(AFTERNOON, 3600)), 200000);
	assert_int_equal(resolve_moment("14:03:20Z", make_clock(AFTERNOON, 3600)), 200000);
	use_zone("UTC");
	assert_int_equal(resolve_moment("14:03:20.25", make_clock(AFTERNOON, 3600)), 200250);
}

static void a_time_of_day_beyond_midnight_is_of_the_next_day(void **state)
{
	struct moment_clock night = make_clock(AFTERNOON + 10 * 3600 - 30, 60); /* from 23:59:30 on */

	use_zone("UTC");
	assert_int_equal(resolve_moment("23:59:40", night), 10000);
	assert_int_equal(resolve_moment("00:00:10", night), 40000);
	assert_int_equal(resolve_moment("13:59:00", make_clock(AFTERNOON, 24 * 3600)), (24 * 3600 - 60) * 1000ll);
}

static void a_time_of_day_outside_is_the_nearest(void **state)
{
	use_zone("UTC");
	assert_int_equal(resolve_moment("13:50:00", make_clock(AFTERNOON, 3600)), -600000);
	assert_int_equal(resolve_moment("15:10:00", make_clock(AFTERNOON, 3600)), 4200000);
	assert_int_equal(resolve_moment("23:50:00", make_clock(AFTERNOON - 14 * 3600, 3600)), -600000);
}

static void a_clock_that_a_log_made_up_does_no_harm(void **state)
{
	const struct moment_clock clocks[] = {{UINT64_MAX, UINT64_MAX, INT64_MAX},
					      {0, UINT64_MAX, INT64_MIN},
					      {UINT64_MAX / 2, UINT64_MAX / 2 + 5, INT64_MIN},
					      {INT64_MAX, INT64_MAX, INT64_MAX}};
	const char *const texts[] = {"5", "14:03:20", "14:03:20Z", "2026-11-22T14:03:20"};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			struct moment moment;

			assert_int_equal(moment_parse(texts[k], &moment), 0);
			moment_resolve(&moment, &clocks[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_since_the_start_have_units_or_minutes),
		cmocka_unit_test(what_is_no_moment_is_refused),
		cmocka_unit_test(dates_are_local_unless_they_say_where),
		cmocka_unit_test(a_time_of_day_is_one_of_the_recording),
		cmocka_unit_test(a_time_of_day_beyond_midnight_is_of_the_next_day),
		cmocka_unit_test(a_time_of_day_outside_is_the_nearest),
		cmocka_unit_test(a_clock_that_a_log_made_up_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
