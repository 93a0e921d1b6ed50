/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time of a thread that is in no wait and in too few samples: it is not known that the thread ran. */
#include "gap_log.h"

/* Waits are recorded, but none of the launching thread. */
static void begin_gap_with_waits(struct gap *gap)
{
	begin_gap(gap);
	log_wait(&gap->log, of(waits(GPT_WAIT_SLEEP, HOLDS, 2 * MS, 3 * MS), PID, HELPER));
}

static void one_sample_says_nothing_of_many_periods(void **state)
{
	struct gap gap;
	uint64_t ran, unknown;

	begin_gap_with_waits(&gap);
	sample(&gap.log, PID, TID, 95 * MS, TRAIN);
	end_gap(&gap);
	ran = own(&gap, LINE_TRAIN, WHY_RAN);
	unknown = own(&gap, LINE_LAUNCH, WHY_UNSAMPLED);
	assert_int_equal(ran, LAUNCHED - (95 * MS - PERIOD));
	assert_int_equal(gap.all.why.sums[WHY_UNSAMPLED].ns, unknown);
	free_gap(&gap, ran + unknown + begun(&gap));
}

static void a_period_without_a_sample_is_divided_by_the_others(void **state)
{
	struct gap gap;

	begin_gap_with_waits(&gap);
	runs(&gap.log, PID, TID, TRAIN, FROM, 80 * MS); /* the last at 75 ms owns the time up to 85 ms */
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, WAITS, 85 * MS + PERIOD, LAUNCHED));
	end_gap(&gap);
	free_gap(&gap, own(&gap, LINE_TRAIN, WHY_RAN) + own(&gap, LINE_WAITS, WHY_SLEEP) + begun(&gap));
}

static void the_period_is_that_of_the_samples_in_the_gap(void **state)
{
	struct gap gap;
	struct gpt_sample often = {.stack_id = TRAIN,
				   .pid = PID,
				   .tid = TID,
				   .period_ns = MS,
				   .stack_state = GPT_STACK_OK,
				   .place = GPT_SAMPLE_USER};
	uint64_t ran, unknown;

	begin_gap_with_waits(&gap);
	sample(&gap.log, PID, HELPER, 5 * MS, HOLDS); /* one in 10 ms */
	for (often.time_ns = FROM + MS / 2; often.time_ns < 93 * MS; often.time_ns += MS)
		log_sample(&gap.log, often);
	end_gap(&gap);
	ran = own(&gap, LINE_TRAIN, WHY_RAN);
	unknown = own(&gap, LINE_LAUNCH, WHY_UNSAMPLED);
	assert_int_equal(ran, 93 * MS + MS / 2 - FROM);
	free_gap(&gap, ran + unknown + begun(&gap));
}

/* Before the gap the thread waits for the GPU for a millisecond, which is charged with the first millisecond of it. */
static void an_earlier_wait_does_not_make_it_shorter(void **state)
{
	struct gap gap;
	uint64_t ran, unknown, in_call;

	begin(&gap.log);
	log_wait(&gap.log, of(waits(GPT_WAIT_SLEEP, HOLDS, 2 * MS, 3 * MS), PID, HELPER));
	call_that_waits(&gap.log, FROM - MS, FROM);
	kernel(&gap.log, 1, 1 * MS, 1 * MS + 10 * US, FROM);
	sample(&gap.log, PID, TID, 95 * MS, TRAIN);
	end_gap(&gap);
	ran = own(&gap, LINE_TRAIN, WHY_RAN);
	unknown = own(&gap, LINE_LAUNCH, WHY_UNSAMPLED);
	in_call = own(&gap, LINE_WAITS, WHY_SYNC);
	assert_int_equal(ran, LAUNCHED - (95 * MS - PERIOD));
	assert_int_equal(in_call, MS);
	free_gap(&gap, ran + unknown + in_call + begun(&gap));
}

/* Twelve gaps of 90 ms in which a thread runs, and one like them in which nothing shows it. */
static void samples_of_gaps_like_it_say_nothing_either(void **state)
{
	struct gap gap;
	uint64_t at = 10 * MS;

	begin(&gap.log);
	log_wait(&gap.log, of(waits(GPT_WAIT_SLEEP, HOLDS, 2 * MS, 3 * MS), PID, HELPER));
	kernel(&gap.log, 1, at - 10 * US, at, at + 10 * MS);
	for (uint32_t i = 0; i < 13; i++, at += 100 * MS) {
		if (i != 6)
			runs(&gap.log, PID, TID, TRAIN, at + 10 * MS, at + 100 * MS);
		kernel(&gap.log, 2 + i, at + 100 * MS - 10 * US, at + 100 * MS, at + 110 * MS);
	}
	log_end(&gap.log, 10000 * MS);
	gap.model = model_of(&gap.log);
	analyze_model(&gap.all, gap.model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	assert_int_equal(own(&gap, LINE_TRAIN, WHY_RAN), 12 * (90 * MS - 10 * US));
	assert_int_equal(own(&gap, LINE_LAUNCH, WHY_UNSAMPLED), 90 * MS - 10 * US);
	assert_int_equal(gap.all.idle.sum, 13 * 90 * MS);
	analyses_free(&gap.all);
	model_free(gap.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_sample_says_nothing_of_many_periods),
		cmocka_unit_test(a_period_without_a_sample_is_divided_by_the_others),
		cmocka_unit_test(the_period_is_that_of_the_samples_in_the_gap),
		cmocka_unit_test(an_earlier_wait_does_not_make_it_shorter),
		cmocka_unit_test(samples_of_gaps_like_it_say_nothing_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
