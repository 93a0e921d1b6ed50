/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The level of detail (attach/detail.h): what lowers it, in which order, and how it rises again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attach/attach_state.h"
#include "attach/probes/probes.h"
#include "base/resident.h"

#define MS 1000000ull
#define RING 1000u
#define CHANGES_MOST 256

static struct {
	struct gputrace_bpf bpf;
	struct gputrace_bpf__bss bss;
	struct attach attach;
	uint32_t files_level;
	struct gpt_detail changes[CHANGES_MOST];
	unsigned count;
	uint64_t now_ns;
	struct thread_cost cost; /* of the last second */
	uint64_t second_ns;	 /* when that began */
	uint64_t resident;
} made;

int files_set_detail(struct files *files, uint32_t level)
{
	made.files_level = level;
	return 0;
}

uint64_t resident_bytes(void)
{
	return made.resident;
}

void thread_costs_begin(struct thread_costs *costs, struct attach *attach, uint64_t now_ns)
{
	made.second_ns = now_ns;
}

bool thread_costs_measure(struct thread_costs *costs, struct attach *attach, uint64_t now_ns, struct thread_cost *most)
{
	if (now_ns - made.second_ns < 1000 * MS)
		return false;
	made.second_ns = now_ns;
	*most = made.cost;
	return true;
}

void thread_costs_free(struct thread_costs *costs)
{
}

static void keep_change(void *context, const struct gpt_record *record)
{
	assert_int_equal(record->type, GPT_DETAIL_CHANGE);
	assert_true(made.count < CHANGES_MOST);
	made.changes[made.count++] = *(const struct gpt_detail *)record;
}

static void start(struct attach_options options)
{
	memset(&made, 0, sizeof(made));
	made.bpf.bss = &made.bss;
	made.now_ns = 1000 * MS;
	made.attach.programs.bpf = &made.bpf;
	made.attach.options = options;
	made.attach.emit = keep_change;
	detail_start(&made.attach);
}

static const struct attach_options all_of_it = {
	.sample_period_ns = 1, .off_cpu_min_ns = 1, .ops = true, .shapes = true};

/* A round of the collector: how full the ring was, 20 ms after the last one. */
static void round_with(uint64_t fill)
{
	made.now_ns += 20 * MS;
	attach_report_ring(&made.attach, fill, RING);
	detail_tick(&made.attach, made.now_ns);
}

static void rounds_with(uint64_t fill, uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 20)
		round_with(fill);
}

static uint32_t level(void)
{
	assert_int_equal(made.bss.detail.level, made.attach.detail.level);
	return made.attach.detail.level;
}

static void as_long_as_the_ring_is_less_than_three_quarters_full_nothing_changes(void **state)
{
	start(all_of_it);
	rounds_with(RING * 3 / 4, 100000);
	assert_int_equal(level(), 0);
	assert_int_equal(made.count, 0);
}

/* What the drain takes before more comes is not too much. */
static void a_ring_that_was_emptied_since_it_was_nearly_full_changes_nothing(void **state)
{
	start(all_of_it);
	for (unsigned i = 0; i < 1000; i++) {
		round_with(RING);
		round_with(RING * 3 / 4);
	}
	assert_int_equal(level(), 0);
	assert_int_equal(made.count, 0);
}

static void rounds_before_the_drain_has_looked_again_do_not_count(void **state)
{
	start(all_of_it);
	round_with(RING);
	for (unsigned i = 0; i < 10; i++) {
		made.now_ns += 20 * MS;
		detail_tick(&made.attach, made.now_ns);
	}
	assert_int_equal(level(), 0);
	round_with(RING);
	assert_int_equal(level(), 1);
}

static void detail_goes_in_its_order_while_the_ring_stays_more_than_three_quarters_full(void **state)
{
	start(all_of_it);
	round_with(RING * 3 / 4 + 1);
	for (uint32_t n = 1; n <= GPT_DETAIL_COUNT; n++) {
		round_with(RING * 3 / 4 + n);
		assert_int_equal(level(), n);
		assert_int_equal(made.changes[n - 1].level, n);
		assert_int_equal(made.changes[n - 1].off, (1u << n) - 1);
		assert_int_equal(made.changes[n - 1].why, GPT_DETAIL_RING);
		assert_int_equal(made.changes[n - 1].measured, RING * 3 / 4 + n);
		assert_int_equal(made.changes[n - 1].limit, RING);
		assert_int_equal(made.changes[n - 1].time_ns, made.now_ns);
	}
	round_with(RING);
	assert_int_equal(made.count, GPT_DETAIL_COUNT);
	assert_int_equal(made.files_level, GPT_DETAIL_COUNT);
}

static void what_is_not_recorded_anyway_is_no_step(void **state)
{
	start((struct attach_options){.off_cpu_min_ns = 1});
	rounds_with(RING, 40);
	assert_int_equal(level(), GPT_DETAIL_WAITS + 1);
	assert_int_equal(made.changes[0].off, 1u << GPT_DETAIL_WAITS);
	round_with(RING);
	assert_int_equal(level(), GPT_DETAIL_STACKS + 1);
	assert_int_equal(made.changes[1].off, 1u << GPT_DETAIL_WAITS | 1u << GPT_DETAIL_STACKS);
	rounds_with(0, 1000);
	assert_int_equal(level(), GPT_DETAIL_WAITS + 1);
	rounds_with(0, 1000);
	assert_int_equal(level(), 0);
	assert_int_equal(made.count, 4);
	assert_int_equal(made.changes[3].off, 0);
}

static void where_a_detail_found_no_room_all_goes_at_once_from_that_time_on(void **state)
{
	start(all_of_it);
	made.bss.detail.refused_ns = made.now_ns + 7 * MS;
	round_with(10); /* the ring was emptied before it was looked at */
	assert_int_equal(level(), GPT_DETAIL_COUNT);
	assert_int_equal(made.count, 1);
	assert_int_equal(made.changes[0].time_ns, made.now_ns - 13 * MS);
	assert_int_equal(made.changes[0].measured, RING * 3 / 4);
	assert_int_equal(made.bss.detail.refused_ns, 0);
}

static void records_are_in_order_of_time(void **state)
{
	start(all_of_it);
	made.bss.detail.refused_ns = made.now_ns + 7 * MS;
	round_with(10);
	made.attach.detail.wait_ns = 0;
	round_with(0); /* a rise, whose record has the real time */
	assert_int_equal(made.count, 2);
	made.bss.detail.refused_ns = made.changes[1].time_ns - 1; /* while that was under way */
	round_with(10);
	assert_int_equal(made.count, 3);
	assert_int_equal(made.changes[2].time_ns, made.changes[1].time_ns);
}

static void detail_comes_back_by_itself_step_by_step(void **state)
{
	start(all_of_it);
	rounds_with(RING, 20 * (GPT_DETAIL_COUNT + 1));
	rounds_with(RING / 3, 100000); /* not empty enough */
	assert_int_equal(level(), GPT_DETAIL_COUNT);
	for (uint32_t n = GPT_DETAIL_COUNT; n-- > 0;) {
		rounds_with(RING / 4, 980);
		assert_int_equal(level(), n + 1);
		round_with(RING / 4);
		assert_int_equal(level(), n);
	}
	assert_int_equal(made.changes[made.count - 1].off, 0);
	assert_int_equal(made.changes[made.count - 1].why, GPT_DETAIL_RING);
	assert_int_equal(made.files_level, 0);
}

static void waits_from_before_they_came_back_are_not_recorded(void **state)
{
	start(all_of_it);
	rounds_with(RING, 60);
	assert_int_equal(level(), GPT_DETAIL_WAITS + 1);
	assert_int_equal(made.bss.activity.resumed_ns, 0);
	rounds_with(0, 1000);
	assert_int_equal(level(), GPT_DETAIL_WAITS);
	assert_int_equal(made.bss.activity.resumed_ns, made.now_ns);
}

/* How long until the level rises from 1 to 0. */
static uint64_t time_to_rise(void)
{
	uint64_t since_ns = made.now_ns;

	assert_int_equal(level(), 1);
	while (level())
		round_with(0);
	return made.now_ns - since_ns;
}

static void after_a_rise_that_was_too_early_the_next_one_comes_later(void **state)
{
	static const uint64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};

	start(all_of_it);
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		rounds_with(RING, 40);
		assert_int_equal(time_to_rise(), seconds[i] * 1000 * MS);
	}
	rounds_with(0, 200000);
	rounds_with(RING, 40);
	assert_int_equal(time_to_rise(), 1000 * MS); /* that one was not too early */
}

#define LIMIT 5000000u /* ns of a second: 0.5 % */

static void start_limited(uint64_t cost_ns)
{
	struct attach_options options = all_of_it;

	options.cost_limit_ns = LIMIT;
	start(options);
	made.second_ns = made.now_ns;
	made.cost = (struct thread_cost){.ns = cost_ns, .pid = 7, .tid = 8};
}

static void detail_goes_in_its_order_each_second_in_which_recording_cost_more_than_permitted(void **state)
{
	start_limited(LIMIT + 1);
	for (uint32_t n = 1; n <= GPT_DETAIL_COUNT; n++) {
		rounds_with(0, 980);
		assert_int_equal(level(), n - 1);
		round_with(0);
		assert_int_equal(level(), n);
		assert_int_equal(made.changes[n - 1].why, GPT_DETAIL_COST);
		assert_int_equal(made.changes[n - 1].measured, LIMIT + 1);
		assert_int_equal(made.changes[n - 1].limit, LIMIT);
		assert_int_equal(made.changes[n - 1].tid, 8);
	}
	rounds_with(0, 100000); /* launches alone cost that much */
	assert_int_equal(made.count, GPT_DETAIL_COUNT);
}

static void a_cost_below_the_limit_stays_as_it_is_and_below_half_of_it_detail_comes_back(void **state)
{
	start_limited(LIMIT + 1);
	rounds_with(0, 1000);
	assert_int_equal(level(), 1);
	made.cost.ns = LIMIT;
	rounds_with(0, 100000);
	assert_int_equal(level(), 1);
	made.cost.ns = LIMIT / 2;
	rounds_with(0, 3000);
	assert_int_equal(level(), 0);
	assert_int_equal(made.count, 2);
	assert_int_equal(made.changes[1].why, GPT_DETAIL_COST);
	assert_int_equal(made.changes[1].measured, LIMIT / 2);
}

static void the_last_measurement_is_kept_with_what_is_left_out_then(void **state)
{
	start_limited(LIMIT + 1);
	rounds_with(0, 500);
	detail_stop(&made.attach); /* no second has passed */
	assert_int_equal(made.count, 0);
	rounds_with(0, 500);
	made.cost.ns = 123;
	rounds_with(RING / 3, 1000);
	detail_stop(&made.attach);
	assert_int_equal(made.count, 2);
	assert_int_equal(made.changes[1].hdr.flags, GPT_DETAIL_LAST);
	assert_int_equal(made.changes[1].measured, 123);
	assert_int_equal(made.changes[1].off, 1u << GPT_DETAIL_SAMPLES);
}

static void without_a_limit_cost_lowers_nothing(void **state)
{
	start(all_of_it);
	made.cost.ns = UINT64_MAX;
	rounds_with(0, 100000);
	detail_stop(&made.attach);
	assert_int_equal(made.count, 0);
}

#define MEMORY 1000u

static void start_bounded(uint64_t resident)
{
	struct attach_options options = all_of_it;

	options.memory_limit = MEMORY;
	start(options);
	made.resident = resident;
}

static void detail_goes_in_its_order_near_the_limit_of_memory_and_comes_back(void **state)
{
	start_bounded(750);
	rounds_with(0, 10000);
	assert_int_equal(level(), 0);
	made.resident = 751;
	for (uint32_t n = 1; n <= GPT_DETAIL_COUNT; n++) {
		rounds_with(0, 120); /* memory is given back later */
		assert_int_equal(level(), n);
		assert_int_equal(made.changes[n - 1].why, GPT_DETAIL_MEMORY);
		assert_int_equal(made.changes[n - 1].measured, 751);
		assert_int_equal(made.changes[n - 1].limit, MEMORY);
	}
	made.resident = 701;
	rounds_with(0, 100000);
	assert_int_equal(level(), GPT_DETAIL_COUNT);
	made.resident = 700;
	rounds_with(0, 1000 * (GPT_DETAIL_COUNT + 1));
	assert_int_equal(level(), 0);
	assert_int_equal(made.changes[made.count - 1].why, GPT_DETAIL_MEMORY);
}

static void nearer_to_it_all_detail_goes_at_once(void **state)
{
	start_bounded(851);
	round_with(0);
	assert_int_equal(level(), GPT_DETAIL_COUNT);
	assert_int_equal(made.count, 1);
	assert_int_equal(made.changes[0].why, GPT_DETAIL_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_long_as_the_ring_is_less_than_three_quarters_full_nothing_changes),
		cmocka_unit_test(a_ring_that_was_emptied_since_it_was_nearly_full_changes_nothing),
		cmocka_unit_test(rounds_before_the_drain_has_looked_again_do_not_count),
		cmocka_unit_test(detail_goes_in_its_order_while_the_ring_stays_more_than_three_quarters_full),
		cmocka_unit_test(what_is_not_recorded_anyway_is_no_step),
		cmocka_unit_test(where_a_detail_found_no_room_all_goes_at_once_from_that_time_on),
		cmocka_unit_test(records_are_in_order_of_time),
		cmocka_unit_test(detail_comes_back_by_itself_step_by_step),
		cmocka_unit_test(waits_from_before_they_came_back_are_not_recorded),
		cmocka_unit_test(after_a_rise_that_was_too_early_the_next_one_comes_later),
		cmocka_unit_test(detail_goes_in_its_order_each_second_in_which_recording_cost_more_than_permitted),
		cmocka_unit_test(a_cost_below_the_limit_stays_as_it_is_and_below_half_of_it_detail_comes_back),
		cmocka_unit_test(the_last_measurement_is_kept_with_what_is_left_out_then),
		cmocka_unit_test(without_a_limit_cost_lowers_nothing),
		cmocka_unit_test(detail_goes_in_its_order_near_the_limit_of_memory_and_comes_back),
		cmocka_unit_test(nearer_to_it_all_detail_goes_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
