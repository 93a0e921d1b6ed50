/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records from another profiler's buffers: whose they are, by which clock, and whether they are known already. */
#include "model_of.h"

#define MS 1000000ull
#define WALL 1790000000000000000ull /* wall clock at the trace's start */

static struct log_builder it;

static void begin_log(uint32_t first_corr)
{
	log_begin(&it, 0, WALL);
	log_batch(&it, PID, TID, 1);
	log_agent_ready(&it, "kernels");
	for (uint32_t i = 0; i < 4; i++)
		log_launch(&it, PID, TID, (100 + i) * MS, 0, first_corr + i);
}

static void add_kernel(uint32_t corr, uint64_t start_ns, uint64_t node)
{
	log_agent_kernel(&it, (struct gpt_agent_kernel){.corr = corr,
							.start_wall_ns = start_ns,
							.end_wall_ns = start_ns + MS / 10,
							.stream = 7,
							.graph_node = node});
}

static struct model *end_log(void)
{
	log_end(&it, 1000 * MS);
	return model_of(&it);
}

static void times_that_are_monotonic_are_taken_as_they_are_with_their_bound(void **state)
{
	struct model *model;

	begin_log(10);
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 4321);
	add_kernel(10, 150 * MS, 0);
	log_batch_foreign(&it, PID, 900 * MS, 0, 0);
	add_kernel(11, WALL + 160 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model->gpu[0].start_ns, 150 * MS);
	assert_int_equal(model->gpu[0].end_ns, 150 * MS + MS / 10);
	assert_int_equal(model->gpu[1].start_ns, 160 * MS);
	assert_int_equal(model_source(model)->receipt.clock_error_ns, 4321);
	assert_int_equal(model_source(model)->receipt.gpu_ops_foreign, 2);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	model_free(model);
}

static void a_buffer_that_was_read_late_is_of_the_program_that_filled_it(void **state)
{
	struct model *model;

	begin_log(10);
	log_process_event(&it, GPT_EXEC, PID, 0, 950 * MS, "other");
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(10, 150 * MS, 0);
	model = end_log();
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	model_free(model);
}

static void work_of_calls_before_and_after_the_trace_is_left_out(void **state)
{
	struct model *model;

	begin_log(10);
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(9, 150 * MS, 0);
	add_kernel(10, 151 * MS, 0);
	add_kernel(13, 152 * MS, 0);
	add_kernel(14, 153 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 2);
	assert_int_equal(model->processes[0].gpu_ops, 2);
	model_free(model);
}

static void correlation_ids_may_run_over(void **state)
{
	struct model *model;

	begin_log(UINT32_MAX - 1); /* ..., UINT32_MAX, 0 (none), 1 */
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(UINT32_MAX - 2, 150 * MS, 0);
	add_kernel(UINT32_MAX, 151 * MS, 0);
	add_kernel(1, 152 * MS, 0);
	add_kernel(2, 153 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	model_free(model);
}

static void between_them_a_call_that_is_missing_is_shown(void **state)
{
	struct model *model;

	begin_log(10);
	log_launch(&it, PID, TID, 110 * MS, 0, 20);
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(15, 150 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 0);
	model_free(model);
}

static void the_agents_own_work_is_never_left_out(void **state)
{
	struct model *model;

	begin_log(10);
	log_batch(&it, PID, TID, 900 * MS);
	add_kernel(9, WALL + 150 * MS, 0);
	log_batch_foreign(&it, PID, 900 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(10, 151 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 2);
	model_free(model);
}

static void what_the_agent_has_read_too_is_there_once(void **state)
{
	struct model *model;

	begin_log(10);
	log_batch_foreign(&it, PID, 800 * MS, GPT_BATCH_MONOTONIC, 0);
	add_kernel(10, 150 * MS, 1);
	add_kernel(10, 150 * MS, 2); /* another node of the same graph */
	add_kernel(11, 152 * MS, 0); /* later in the same stream: another operation */
	log_batch(&it, PID, TID, 900 * MS);
	add_kernel(10, WALL + 150 * MS + 50, 1);
	add_kernel(11, WALL + 155 * MS, 0);
	model = end_log();
	assert_int_equal(model->gpu_count, 4);
	assert_int_equal(model_source(model)->receipt.gpu_ops_foreign, 2);
	assert_true(model->gpu[0].foreign);
	assert_int_equal(model->gpu[0].graph_node, 2);
	assert_int_equal(model->gpu[1].start_ns, 150 * MS + 50);
	assert_false(model->gpu[1].foreign);
	model_free(model);
}

static void what_was_lost_of_each_buffer_is_added_up(void **state)
{
	struct model *model;

	begin_log(10);
	log_batch(&it, PID, TID, 700 * MS);
	log_agent_stats(&it, (struct gpt_agent_stats){.malformed = 1, .names_dropped = 2});
	for (unsigned i = 0; i < 2; i++) {
		log_batch_foreign(&it, PID, 800 * MS, 0, 0);
		log_agent_stats(&it, (struct gpt_agent_stats){.malformed = 10, .names_dropped = 20});
	}
	model = end_log();
	assert_int_equal(model_source(model)->receipt.malformed, 21);
	assert_int_equal(model_source(model)->receipt.names_dropped, 42);
	assert_int_equal(model->processes[0].agent_losses.malformed, 1);
	model_free(model);
}

static void records_of_calls_are_taken_by_their_own_clock_too(void **state)
{
	struct model *model;

	log_begin(&it, 0, WALL);
	log_thread(&it, PID, TID, 1, "main");
	log_batch(&it, PID, TID, 2);
	log_agent_hello(&it, GPT_AGENT_BORROWING, GPT_AGENT_OK, 130001, "", "");
	for (uint32_t i = 0; i < 2; i++) {
		const struct gpt_call call = {.time_ns = (100 + i) * MS,
					      .pid = PID,
					      .tid = TID,
					      .api = CUDA_LAUNCH,
					      .origin = GPT_ORIGIN_SYMBOL,
					      .stack_state = GPT_STACK_NO_PYTHON};
		uint64_t wall = i ? 0 : WALL;

		log_call_args(&it, (struct gpt_call_args){.call = call});
		log_batch_foreign(&it, PID, 900 * MS, i ? GPT_BATCH_MONOTONIC : 0, 0);
		log_agent_api_activity(&it, (struct gpt_agent_api_activity){.start_wall_ns = wall + call.time_ns + 3000,
									    .end_wall_ns = wall + call.time_ns + 9000,
									    .corr = 10 + i,
									    .api = CUDA_LAUNCH,
									    .thread = TID});
		add_kernel(10 + i, wall + 150 * MS + i, 0);
	}
	model = end_log();
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	assert_int_equal(model->calls[0].corr, 10);
	assert_int_equal(model->calls[1].corr, 11);
	assert_int_equal(model->calls[1].end_ns, 101 * MS + 9000);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_that_are_monotonic_are_taken_as_they_are_with_their_bound),
		cmocka_unit_test(a_buffer_that_was_read_late_is_of_the_program_that_filled_it),
		cmocka_unit_test(work_of_calls_before_and_after_the_trace_is_left_out),
		cmocka_unit_test(correlation_ids_may_run_over),
		cmocka_unit_test(between_them_a_call_that_is_missing_is_shown),
		cmocka_unit_test(the_agents_own_work_is_never_left_out),
		cmocka_unit_test(what_the_agent_has_read_too_is_there_once),
		cmocka_unit_test(what_was_lost_of_each_buffer_is_added_up),
		cmocka_unit_test(records_of_calls_are_taken_by_their_own_clock_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
