/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a trace says about its completeness, as rows. */
#include "analyzed.h"

static void a_whole_trace_has_no_rows(void **state)
{
	struct model *model = sample_model(1, 20);
	struct complete complete;

	complete_make(&complete, model);
	assert_int_equal(complete.end, COMPLETE_ENDED);
	assert_true(complete.has_gpu_times);
	assert_int_equal(complete.launches_joined, 60);
	assert_int_equal(complete.launches_meant, 60);
	assert_int_equal(complete.complete, MODEL_COMPLETE);
	assert_int_equal(complete.count, 0);
	assert_int_equal(complete.gpu_ns, 20 * SAMPLE_GPU_NS_PER_STEP);
	assert_int_equal(complete.gpu_ns_with_line, 20 * (SAMPLE_GPU_NS_PER_STEP - 60000));
	assert_false(complete.other_client_suspected);
	model_free(model);
}

static void each_cause_that_was_met_is_a_row(void **state)
{
	struct model *model = sample_model(1, 1);
	struct complete complete;

	model_source(model)->receipt.gpu_ops_untimed = 3;
	model_source(model)->receipt.clock_steps = 1;
	complete_make(&complete, model);
	assert_int_equal(complete.count, 2);
	assert_string_equal(complete.rows[0].name, "gpu_ops_untimed");
	assert_int_equal(complete.rows[0].count, 3);
	assert_string_equal(complete.rows[1].name, "clock_steps");
	model_free(model);
}

static void how_a_trace_ended_is_one_of_four(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_receipt *receipt = &model_source(model)->receipt;
	struct complete complete;

	receipt->end_reason = GPT_END_DISK;
	complete_make(&complete, model);
	assert_int_equal(complete.end, COMPLETE_DISK_FULL);
	receipt->end_reason = GPT_END_ERROR;
	complete_make(&complete, model);
	assert_int_equal(complete.end, COMPLETE_FAILED);
	receipt->truncated = true;
	complete_make(&complete, model);
	assert_int_equal(complete.end, COMPLETE_TRUNCATED);
	model_free(model);
}

static void activity_sets_that_an_agent_did_not_record_are_named(void **state)
{
	struct model *model = sample_model(2, 1);
	struct complete complete;

	model->processes[0].agent_activity_sets = "kernels,sync";
	model->processes[1].agent_activity_sets = "kernels,cuda";
	complete_make(&complete, model);
	for (size_t i = 0; i < complete.set_count; i++) {
		assert_string_not_equal(complete.sets[i], "kernels");
		assert_string_not_equal(complete.sets[i], "sync"); /* where all calls are recorded, so are waits */
		assert_string_not_equal(complete.sets[i], "nvtx");
	}
	assert_true(complete.set_count > 0);
	model_free(model);
}

static void another_client_is_suspected_where_nothing_else_explains_missing_records(void **state)
{
	struct model *model = sample_model(1, 2);
	struct model_receipt *receipt = &model_source(model)->receipt;
	struct complete complete;

	receipt->launches_joined = 0;
	complete_make(&complete, model);
	assert_true(complete.other_client_suspected);
	receipt->buffers_refused = 1;
	complete_make(&complete, model);
	assert_false(complete.other_client_suspected);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_trace_has_no_rows),
		cmocka_unit_test(each_cause_that_was_met_is_a_row),
		cmocka_unit_test(how_a_trace_ended_is_one_of_four),
		cmocka_unit_test(activity_sets_that_an_agent_did_not_record_are_named),
		cmocka_unit_test(another_client_is_suspected_where_nothing_else_explains_missing_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
