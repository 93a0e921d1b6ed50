/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Launches whose GPU records went to another user of CUPTI, and for how long. */
#include "model_of.h"

#define MS 1000000ull

static void add_use(struct log_builder *log, uint32_t pid, uint64_t time_ns, enum gpt_cupti_function what, bool own)
{
	log_cupti_use(log,
		      (struct gpt_cupti_use){.time_ns = time_ns, .pid = pid, .tid = TID, .what = what, .own = own});
}

/* An agent that is there from the start, and its registration. */
static void begin_log(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_batch(log, PID, TID, 1);
	log_agent_hello(log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "", "");
	add_use(log, PID, 2, GPT_CUPTI_REGISTER, true);
}

static void launches_without_gpu_work_are_explained_by_the_session_they_fell_into(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_ENABLE, false);
	add_use(&log, PID, 700 * MS, GPT_CUPTI_DISABLE, false);
	add_use(&log, PID, 700 * MS, GPT_CUPTI_REGISTER, false); /* another session, before the agent could come back */
	add_use(&log, PID, 800 * MS, GPT_CUPTI_REGISTER, true);
	log_launch(&log, PID, TID, 300 * MS, 0, 1);
	log_launch(&log, PID, TID, 450 * MS, 0, 2); /* its record was on its way */
	log_launch(&log, PID, TID, 600 * MS, 0, 3);
	log_launch(&log, PID, TID, 650 * MS, 0, 4); /* it has a record all the same */
	log_launch(&log, PID, TID, 750 * MS, 0, 5);
	log_launch(&log, PID, TID, 900 * MS, 0, 6);
	log_launch(&log, PID + 1, TID + 1, 600 * MS, 0, 1); /* another process */
	log_batch(&log, PID, TID, 990 * MS);
	log_agent_kernel(&log,
			 (struct gpt_agent_kernel){.corr = 4, .start_wall_ns = 651 * MS, .end_wall_ns = 652 * MS});
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches_expected, 7);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	assert_int_equal(model_source(model)->receipt.gaps, 1);
	assert_int_equal(model_source(model)->receipt.gap_ns, 300 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 3);
	model_free(model);
}

static void a_session_that_does_not_end_lasts_as_long_as_the_trace(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	log_launch(&log, PID, TID, 900 * MS, 0, 1);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gap_ns, 500 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 1);
	model_free(model);
}

/* The collector writes the record when it has found out who made the call. */
static void an_earlier_registration_that_is_recorded_late_ends_no_session(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	add_use(&log, PID, 400 * MS, GPT_CUPTI_REGISTER, true);
	log_launch(&log, PID, TID, 900 * MS, 0, 1);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gap_ns, 500 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 1);
	model_free(model);
}

static void an_exec_ends_the_session_of_the_program_before(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	log_process_event(&log, GPT_EXEC, PID, 0, 600 * MS, "next");
	log_launch(&log, PID, TID, 900 * MS, 0, 1);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gap_ns, 100 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 0);
	model_free(model);
}

static void nothing_is_taken_from_an_agent_that_is_not_there(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	log_launch(&log, PID, TID, 600 * MS, 0, 0);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gaps, 0);
	assert_int_equal(model_source(model)->receipt.gap_ns, 0);
	model_free(model);
}

/* GPU work of a call, from the other client's buffer. */
static void foreign_kernel(struct log_builder *log, uint32_t corr, uint64_t start_ns)
{
	log_agent_kernel(
		log, (struct gpt_agent_kernel){.corr = corr, .start_wall_ns = start_ns, .end_wall_ns = start_ns + MS});
}

static void a_session_whose_records_came_by_its_buffers_is_no_gap(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	add_use(&log, PID, 800 * MS, GPT_CUPTI_REGISTER, true);
	log_launch(&log, PID, TID, 600 * MS, 0, 1);
	log_launch(&log, PID, TID, 700 * MS, 0, 2);
	log_batch_foreign(&log, PID, 790 * MS, 0, 0);
	foreign_kernel(&log, 1, 601 * MS);
	foreign_kernel(&log, 2, 701 * MS);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops_foreign, 2);
	assert_int_equal(model_source(model)->receipt.gaps, 0);
	assert_int_equal(model_source(model)->receipt.gap_ns, 0);
	assert_int_equal(model_source(model)->receipt.gap_launches, 0);
	model_free(model);
}

static void of_a_session_read_from_its_own_buffers_the_rest_is_a_gap(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, false);
	add_use(&log, PID, 800 * MS, GPT_CUPTI_REGISTER, true);
	log_launch(&log, PID, TID, 600 * MS, 0, 1);
	log_launch(&log, PID, TID, 750 * MS, 0, 2); /* after the session's end, before the agent is back */
	log_batch_foreign(&log, PID, 740 * MS, 0, 0);
	foreign_kernel(&log, 1, 601 * MS);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gaps, 1);
	assert_int_equal(model_source(model)->receipt.gap_ns, 50 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 1);
	assert_int_equal(model_source(model)->receipt.launches_expected, 2);
	model_free(model);
}

/* An agent that deferred its start registers at 500 ms, another client at other_ns (0: never). */
static void begin_deferred(struct log_builder *log, uint64_t other_ns)
{
	log_begin(log, 0, 0);
	log_batch(log, PID, TID, 10 * MS);
	log_agent_ready(log, "");
	if (other_ns)
		add_use(log, PID, other_ns, GPT_CUPTI_REGISTER, false);
	add_use(log, PID, 500 * MS, GPT_CUPTI_REGISTER, true);
	log_launch(log, PID, TID, 100 * MS, 0, 1);
	log_launch(log, PID, TID, 200 * MS, 0, 2);
	log_launch(log, PID, TID, 600 * MS, 0, 3);
	log_batch(log, PID, TID, 990 * MS);
	foreign_kernel(log, 3, 601 * MS);
}

static void launches_before_the_agent_recorded_are_not_expected_when_no_one_else_did(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_deferred(&log, 0);
	log_launch(&log, PID, TID, 700 * MS, 0, 4);		/* this one is missing */
	add_use(&log, PID, 900 * MS, GPT_CUPTI_REGISTER, true); /* what the agent does later changes nothing */
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches, 4);
	assert_int_equal(model_source(model)->receipt.launches_expected, 2);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	assert_int_equal(model_source(model)->receipt.gaps, 0);
	assert_int_equal(model_source(model)->receipt.gap_launches, 0);
	model_free(model);
}

/* The agent registers its buffers at 500 ms and enables the kinds after that. */
static void launches_between_registering_and_the_first_with_gpu_times_are_not_expected_either(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_deferred(&log, 0);
	log_launch(&log, PID, TID, 501 * MS, 0, 4);
	log_launch(&log, PID, TID, 601 * MS, 0, 5); /* this one is missing */
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches, 5);
	assert_int_equal(model_source(model)->receipt.launches_expected, 2);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	assert_int_equal(model_source(model)->receipt.launches_agent_away, 3);
	model_free(model);
}

static void an_agent_that_does_not_say_its_activity_sets_has_all(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 10 * MS);
	log_agent_hello(&log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "", "");
	log_launch(&log, PID, TID, 100 * MS, 0, 1);
	add_use(&log, PID, 500 * MS, GPT_CUPTI_REGISTER, true);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches_expected, 1);
	model_free(model);
}

static void launches_before_the_agent_recorded_are_a_gap_when_another_did(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_deferred(&log, 0);
	log_batch_foreign(&log, PID, 400 * MS, 0, 0);
	foreign_kernel(&log, 1, 101 * MS);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches_expected, 3);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	assert_int_equal(model_source(model)->receipt.gaps, 1);
	assert_int_equal(model_source(model)->receipt.gap_ns, 300 * MS);
	assert_int_equal(model_source(model)->receipt.gap_launches, 1);
	model_free(model);
}

static void an_agent_that_deferred_its_start_until_another_began_leaves_the_rest_to_that_gap(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_deferred(&log, 150 * MS);
	log_end(&log, 1000 * MS);
	model = model_of(&log);
	/* the first launch is within the time of records that were on their way */
	assert_int_equal(model_source(model)->receipt.gap_launches, 2);
	assert_int_equal(model_source(model)->receipt.gap_ns, 350 * MS);
	assert_int_equal(model_source(model)->receipt.launches_expected, 3);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_without_gpu_work_are_explained_by_the_session_they_fell_into),
		cmocka_unit_test(a_session_that_does_not_end_lasts_as_long_as_the_trace),
		cmocka_unit_test(an_earlier_registration_that_is_recorded_late_ends_no_session),
		cmocka_unit_test(an_exec_ends_the_session_of_the_program_before),
		cmocka_unit_test(nothing_is_taken_from_an_agent_that_is_not_there),
		cmocka_unit_test(a_session_whose_records_came_by_its_buffers_is_no_gap),
		cmocka_unit_test(of_a_session_read_from_its_own_buffers_the_rest_is_a_gap),
		cmocka_unit_test(launches_before_the_agent_recorded_are_not_expected_when_no_one_else_did),
		cmocka_unit_test(launches_between_registering_and_the_first_with_gpu_times_are_not_expected_either),
		cmocka_unit_test(an_agent_that_does_not_say_its_activity_sets_has_all),
		cmocka_unit_test(launches_before_the_agent_recorded_are_a_gap_when_another_did),
		cmocka_unit_test(an_agent_that_deferred_its_start_until_another_began_leaves_the_rest_to_that_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
