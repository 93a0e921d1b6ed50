/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When the agent asks CUPTI for its records: often enough that a kill loses little, never often where calls go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/process/flush_timer.h"
#include "agent_points.h"

#define MS 1000000u
#define TICK (20 * MS) /* of the agent's thread */
#define START (1000 * MS)
#define TICKS 500u

/* Flushes in TICKS ticks of a program whose latest call returns `ago_ns` before each tick; 0: it makes none. */
static unsigned flushes_of(uint64_t ago_ns)
{
	struct flush_timer timer = {0};
	unsigned flushes = 0;

	for (uint64_t now_ns = START; now_ns < START + TICKS * (uint64_t)TICK; now_ns += TICK) {
		if (ago_ns)
			flush_timer_note(&timer, now_ns - ago_ns);
		flushes += flush_timer_take(&timer, now_ns);
	}
	return flushes;
}

static void a_program_that_calls_all_the_time_or_never_is_flushed_ten_times_a_second(void **state)
{
	assert_int_equal(flushes_of(0), TICKS / 5);
	assert_int_equal(flushes_of(1), TICKS / 5);
	assert_int_equal(flushes_of(FLUSH_PAUSE_NS - 1), TICKS / 5);
}

static void a_program_that_pauses_at_each_tick_is_flushed_once_a_tick(void **state)
{
	assert_int_equal(flushes_of(FLUSH_PAUSE_NS), TICKS);
	assert_int_equal(flushes_of(TICK - 1), TICKS);
}

static void the_first_tick_after_the_last_call_flushes_and_the_next_ones_do_not(void **state)
{
	struct flush_timer timer = {0};

	assert_true(flush_timer_take(&timer, START));
	flush_timer_note(&timer, START + 3 * MS);
	flush_timer_note(&timer, START + 2 * MS); /* of another thread, taken later */
	assert_false(flush_timer_take(&timer, START + 4 * MS));
	assert_true(flush_timer_take(&timer, START + 20 * MS));
	assert_false(flush_timer_take(&timer, START + 40 * MS));
	assert_false(flush_timer_take(&timer, START + 60 * MS));
}

static void a_call_that_returns_while_a_tick_is_under_way_is_no_pause(void **state)
{
	struct flush_timer timer = {0};

	assert_true(flush_timer_take(&timer, START));
	flush_timer_note(&timer, START + 21 * MS);
	assert_false(flush_timer_take(&timer, START + 20 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_calls_all_the_time_or_never_is_flushed_ten_times_a_second),
		cmocka_unit_test(a_program_that_pauses_at_each_tick_is_flushed_once_a_tick),
		cmocka_unit_test(the_first_tick_after_the_last_call_flushes_and_the_next_ones_do_not),
		cmocka_unit_test(a_call_that_returns_while_a_tick_is_under_way_is_no_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
