/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What recording costs a step: made-up windows, and random ones whose cost is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <gputrace/schedule.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/steps/cost_proof.h"

#define MS 1000000u
#define SECOND 1000000000u

static struct model_reported_step steps[20000];

static struct cost_proof proof_of(uint32_t count, uint32_t processes)
{
	struct model model = {.reported_steps = steps, .reported_step_count = count, .process_count = processes};
	struct cost_proof proof;

	cost_proof_make(&proof, &model);
	return proof;
}

static void put_step(uint32_t at, uint64_t time_ns, uint32_t window, bool is_recorded)
{
	steps[at] = (struct model_reported_step){
		.time_ns = time_ns, .cycle = window, .phase = is_recorded ? GPT_STEP_ACTIVE : GPT_STEP_WAITING};
}

/* Windows of ten steps: recorded ones last 110 ms, others 100 ms. The first of each window takes a second. */
static uint32_t put_windows(uint32_t windows)
{
	uint64_t time_ns = SECOND;
	uint32_t count = 0;

	for (uint32_t window = 0; window < windows; window++)
		for (uint32_t i = 0; i < 10; i++) {
			bool is_recorded = window % 4 == 1 || window % 4 == 2;

			put_step(count++, time_ns, window, is_recorded);
			time_ns += i ? (is_recorded ? 110u : 100u) * (uint64_t)MS : SECOND;
		}
	return count;
}

static void the_difference_is_that_of_whole_steps_without_the_first_of_a_window(void **state)
{
	struct cost_proof proof = proof_of(put_windows(20), 1);
	const struct cost_proof_row *row = cost_proof_main(&proof);

	assert_int_equal(proof.rows.count, 1);
	assert_int_equal(row->pairs, 10);
	/* the end of the last step is not known */
	assert_int_equal(row->counted_steps + row->recorded_steps, 20 * 9 - 1);
	assert_float_equal(row->recorded_ns, 110 * MS, 1);
	assert_float_equal(row->counted_ns, 100 * MS, 1);
	assert_float_equal(row->noise_ns, 0, 1);
	cost_proof_free(&proof);
}

static void few_pairs_of_windows_prove_nothing(void **state)
{
	struct cost_proof proof = proof_of(put_windows(2 * COST_PROOF_PAIRS_LEAST - 2), 1);

	assert_int_equal(cost_proof_main(&proof)->pairs, COST_PROOF_PAIRS_LEAST - 1);
	assert_true(isnan(cost_proof_main(&proof)->noise_ns));
	cost_proof_free(&proof);
	proof = proof_of(put_windows(2 * COST_PROOF_PAIRS_LEAST), 1);
	assert_false(isnan(cost_proof_main(&proof)->noise_ns));
	cost_proof_free(&proof);
	proof = proof_of(0, 1);
	assert_null(cost_proof_main(&proof));
	cost_proof_free(&proof);
}

static void a_window_whose_steps_are_too_long_is_left_out_with_its_pair(void **state)
{
	uint64_t time_ns = SECOND;
	struct cost_proof proof;
	uint32_t count = 0;

	for (uint32_t window = 0; window < 20; window++) /* one step in each of the first six */
		for (uint32_t i = 0; i < (window < 6 ? 1u : 10u); i++) {
			put_step(count++, time_ns, window, window & 1);
			time_ns += SECOND;
		}
	proof = proof_of(count, 1);
	assert_int_equal(cost_proof_main(&proof)->pairs, 7);
	cost_proof_free(&proof);
}

static void steps_that_are_lost_or_out_of_order_are_not_measured(void **state)
{
	uint32_t count = put_windows(20);
	struct cost_proof proof;

	steps[15].after_lost = true;	 /* so step 14 may be several */
	steps[25].time_ns -= 9 * SECOND; /* before step 24; then 25 seems long */
	steps[26].after_lost = true;
	proof = proof_of(count, 1);
	assert_int_equal(cost_proof_main(&proof)->counted_steps + cost_proof_main(&proof)->recorded_steps,
			 20 * 9 - 1 - 3);
	assert_float_equal(cost_proof_main(&proof)->recorded_ns, 110 * MS, 1);
	cost_proof_free(&proof);
}

static void each_process_has_a_row_and_the_one_with_most_steps_counts(void **state)
{
	uint32_t count = put_windows(20);
	struct cost_proof proof;

	for (uint32_t i = 0; i < 60; i++) {
		steps[count + i] = steps[i];
		steps[i].process = 2;
	}
	proof = proof_of(count + 60, 3);
	assert_int_equal(proof.rows.count, 2);
	assert_int_equal(proof.rows.items[0].process, 0);
	assert_int_equal(proof.rows.items[1].process, 2);
	assert_ptr_equal(cost_proof_main(&proof), &proof.rows.items[0]);
	cost_proof_free(&proof);
}

/* ---- random series ----------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static double uniform(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* What a step takes longer or shorter than the mean one, as a part of it. */
static double white(double before, double time)
{
	return 0.05 * normal();
}

static double correlated(double before, double time)
{
	return 0.9 * before + 0.05 * normal();
}

static double heavy_tailed(double before, double time) /* Student's t with two degrees of freedom, cut */
{
	double value = 0.05 * normal() / sqrt(-log(uniform()));

	return value < -0.9 ? -0.9 : value;
}

static double drifting(double before, double time) /* by a fifth in a minute, and a long step each seven seconds */
{
	return 0.2 * time / 60 + 0.02 * normal() + (fmod(time, 7) < 0.02 ? 10 : 0);
}

#define STEP_NS (20.0 * MS)
#define COST_NS (0.02 * STEP_NS)
#define SEEDS 400u

/* A minute of steps in windows of one second. */
static uint32_t put_random(uint32_t seed, double (*noise)(double before, double time))
{
	struct gpt_schedule schedule = {.windows_ms = 1000, .listener = seed};
	double time_ns = 0, off = 0;
	uint32_t count = 0;

	random_state = seed;
	while (time_ns < 60.0 * SECOND) {
		uint64_t window = gpt_schedule_window(&schedule, (uint64_t)time_ns);
		bool is_recorded = gpt_schedule_records_window(&schedule, window);

		put_step(count++, (uint64_t)time_ns, (uint32_t)window, is_recorded);
		off = noise(off, time_ns / SECOND);
		time_ns += STEP_NS * (1 + off) + (is_recorded ? COST_NS : 0);
	}
	return count;
}

static unsigned count_true(double (*noise)(double before, double time))
{
	unsigned holds = 0;

	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct cost_proof proof = proof_of(put_random(seed, noise), 1);
		const struct cost_proof_row *row = cost_proof_main(&proof);

		holds += fabs(row->recorded_ns - row->counted_ns - COST_NS) <= row->noise_ns;
		cost_proof_free(&proof);
	}
	return holds;
}

/* 95 % of 400 are 380, give or take 4.4; an interval that is too wide would prove nothing. */
static void the_interval_holds_the_true_cost_in_95_of_100_runs(void **state)
{
	double (*const noises[])(double before, double time) = {white, correlated, heavy_tailed, drifting};

	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
		unsigned holds = count_true(noises[i]);

		print_message("noise %zu: %u of %u\n", i, holds, SEEDS);
		assert_in_range(holds, 366, 400);
	}
}

static void of_two_windows_one_is_recorded_and_which_one_is_random(void **state)
{
	struct gpt_schedule schedule = {.windows_ms = 1000, .listener = 0x12345};
	unsigned first = 0, alike = 0;

	for (uint64_t window = 0; window < 2000; window += 2) {
		bool is_first = gpt_schedule_records_window(&schedule, window);

		assert_int_not_equal(is_first, gpt_schedule_records_window(&schedule, window + 1));
		first += is_first;
		alike += is_first == gpt_schedule_records_window(&schedule, window + 2);
	}
	assert_in_range(first, 430, 570); /* of 1,000 */
	assert_in_range(alike, 430, 570);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_difference_is_that_of_whole_steps_without_the_first_of_a_window),
		cmocka_unit_test(few_pairs_of_windows_prove_nothing),
		cmocka_unit_test(a_window_whose_steps_are_too_long_is_left_out_with_its_pair),
		cmocka_unit_test(steps_that_are_lost_or_out_of_order_are_not_measured),
		cmocka_unit_test(each_process_has_a_row_and_the_one_with_most_steps_counts),
		cmocka_unit_test(of_two_windows_one_is_recorded_and_which_one_is_random),
		cmocka_unit_test(the_interval_holds_the_true_cost_in_95_of_100_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
