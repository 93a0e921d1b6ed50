/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU work that the agent hands over but that is outside the trace: older, or launched after its end. */
#include "model_of.h"

#define MS 1000000ull
#define WALL 1790000000000000000ull /* wall clock at the monotonic clock's zero */
#define START (1000 * MS)
#define END (2000 * MS)

static struct log_builder it;

/* A second gputrace: it comes to an agent that has been working for long, and sees calls 10 to 13. */
static void begin_log(void)
{
	log_begin(&it, START, WALL);
	log_batch(&it, PID, TID, START + 1);
	log_agent_ready(&it, "kernels");
	for (uint32_t i = 0; i < 4; i++)
		log_launch(&it, PID, TID, START + (100 + i) * MS, 0, 10 + i);
	log_batch(&it, PID, TID, START + 200 * MS);
}

static void add_kernel(uint32_t corr, uint64_t start_ns)
{
	log_agent_kernel(&it, (struct gpt_agent_kernel){.corr = corr,
							.start_wall_ns = start_ns ? WALL + start_ns : 0,
							.end_wall_ns = start_ns ? WALL + start_ns + MS : 0,
							.stream = 7});
}

static struct model *end_log(void)
{
	log_end(&it, END);
	return model_of(&it);
}

static void work_that_was_over_when_the_trace_began_is_left_out(void **state)
{
	struct model *model;

	begin_log();
	add_kernel(5, START - 2 * MS);
	add_kernel(10, START + 150 * MS);
	model = end_log();
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 1);
	assert_int_equal(model->processes[0].gpu_ops, 1);
	model_free(model);
}

static void work_of_earlier_calls_that_runs_in_the_trace_is_reported_as_older(void **state)
{
	struct model *model;

	begin_log();
	add_kernel(8, START - MS / 2);
	add_kernel(9, START + 50 * MS);
	add_kernel(10, START + 150 * MS);
	model = end_log();
	assert_int_equal(model->gpu_count, 3);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 2);
	assert_true(model->gpu[0].before && model->gpu[1].before && !model->gpu[2].before);
	assert_int_equal(model_source(model)->receipt.lost, 0);
	model_free(model);
}

static void work_of_calls_made_when_the_trace_had_ended_is_left_out(void **state)
{
	struct model *model;

	begin_log();
	add_kernel(13, END + 100 * MS); /* called within the trace */
	add_kernel(14, END + 101 * MS);
	add_kernel(15, 0); /* could not be timed */
	model = end_log();
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 0);
	model_free(model);
}

static void between_them_a_launch_that_was_not_seen_is_a_loss(void **state)
{
	struct model *model;

	begin_log();
	log_launch(&it, PID, TID, START + 200 * MS, 0, 20);
	log_batch(&it, PID, TID, START + 300 * MS);
	add_kernel(15, START + 150 * MS);
	add_kernel(22, START + 250 * MS); /* after the last call, but within the trace */
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined + model_source(model)->receipt.gpu_ops_before, 0);
	model_free(model);
}

static void ids_that_ran_over_say_the_same(void **state)
{
	struct model *model;

	log_begin(&it, START, WALL);
	log_batch(&it, PID, TID, START + 1);
	log_agent_ready(&it, "kernels");
	log_launch(&it, PID, TID, START + 100 * MS, 0, UINT32_MAX);
	log_launch(&it, PID, TID, START + 101 * MS, 0, 2);
	log_batch(&it, PID, TID, START + 200 * MS);
	add_kernel(UINT32_MAX - 1, START + 50 * MS);
	add_kernel(3, END + MS);
	model = end_log();
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 1);
	model_free(model);
}

/* An id that a thread got before the trace, but that is reported within it, does not mark the beginning. */
static void the_call_that_was_reported_first_is_the_beginning(void **state)
{
	struct model *model;

	begin_log();
	log_launch(&it, PID, TID + 1, START + 101 * MS, 0, 5);
	log_batch(&it, PID, TID, START + 300 * MS);
	add_kernel(7, START + 50 * MS);
	model = end_log();
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 1);
	model_free(model);
}

/* Some probes were in place before the others. */
static void calls_from_before_the_beginning_are_left_out(void **state)
{
	struct model *model;

	log_begin(&it, START, WALL);
	log_batch(&it, PID, TID, START - 50 * MS);
	log_agent_ready(&it, "kernels");
	log_launch(&it, PID, TID, START - 20 * MS, 0, 10);
	log_launch(&it, PID, TID, START - 1, 0, 11);
	log_launch(&it, PID, TID, START, 0, 12);
	log_batch(&it, PID, TID, START + 200 * MS);
	add_kernel(10, START - 10 * MS);
	add_kernel(11, START + 10 * MS); /* runs in the trace */
	add_kernel(12, START + 20 * MS);
	model = end_log();
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->calls[0].corr, 12);
	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 1);
	assert_int_equal(model_source(model)->receipt.launches_agent_away, 0);
	assert_int_equal(model->processes[0].first_call_ns, START);
	model_free(model);
}

/* The thread waited between getting its id and the call; another thread with a higher id was reported before. */
static void work_of_a_call_that_was_left_out_is_older_whatever_its_id(void **state)
{
	struct model *model;

	log_begin(&it, START, WALL);
	log_batch(&it, PID, TID, START - 50 * MS);
	log_agent_ready(&it, "kernels");
	log_launch(&it, PID, TID, START - 1, 0, 11);
	log_launch(&it, PID, TID + 1, START + 1, 0, 10);
	log_batch(&it, PID, TID, START + 200 * MS);
	add_kernel(11, START + 10 * MS);
	add_kernel(10, START + 20 * MS);
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops_before, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 1);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_that_was_over_when_the_trace_began_is_left_out),
		cmocka_unit_test(work_of_earlier_calls_that_runs_in_the_trace_is_reported_as_older),
		cmocka_unit_test(work_of_calls_made_when_the_trace_had_ended_is_left_out),
		cmocka_unit_test(between_them_a_launch_that_was_not_seen_is_a_loss),
		cmocka_unit_test(ids_that_ran_over_say_the_same),
		cmocka_unit_test(the_call_that_was_reported_first_is_the_beginning),
		cmocka_unit_test(calls_from_before_the_beginning_are_left_out),
		cmocka_unit_test(work_of_a_call_that_was_left_out_is_older_whatever_its_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
