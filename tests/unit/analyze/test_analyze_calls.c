/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits, time in CUDA calls, failed calls and JIT compilation, as rows. */
#include "analyzed.h"

#define WAIT_API GPT_API(GPT_DOMAIN_RUNTIME, 131) /* cudaStreamSynchronize */

static void a_wait_that_cupti_reported_counts_by_its_word_and_says_for_which_stream(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_WAITS));
	assert_int_equal(all.waits.rows[0].kind, GPT_AGENT_SYNC_STREAM);
	assert_int_equal(all.waits.rows[0].stream, 7);
	assert_int_equal(all.waits.rows[0].recorded_line, NONE);
	assert_int_equal(all.waits.rows[0].ns, 20 * 598000);
	assert_int_equal(all.waits.rows[0].count, 20);
	assert_line(&all, all.waits.rows[0].line, "train.py:27 train_step");
	assert_int_equal(all.waits.ns, 20 * 598000);
	analyses_free(&all);
	model_free(model);
}

static void a_wait_that_no_one_reported_is_the_time_in_its_call(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	model->sync_count = 0;
	analyze_model(&all, model, ANALYSES(ANALYZE_WAITS));
	assert_int_equal(all.waits.count, 1);
	assert_int_equal(all.waits.rows[0].kind, WAIT_CALL);
	assert_int_equal(all.waits.rows[0].api, WAIT_API);
	assert_int_equal(all.waits.rows[0].ns, 20 * 600000);
	analyses_free(&all);
	model_free(model);
}

static void a_wait_for_an_event_names_the_line_that_recorded_it(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	for (uint32_t i = 0; i < model->sync_count; i++) {
		model->syncs[i].kind = i % 2 ? GPT_AGENT_SYNC_EVENT : GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
		model->syncs[i].stream = NONE;
		model->syncs[i].recorded_by = i % 4 == 1 ? 0 : NONE;
	}
	analyze_model(&all, model, ANALYSES(ANALYZE_WAITS));
	assert_int_equal(all.waits.count, 2); /* a stream that waits blocks no thread */
	assert_int_equal(all.waits.rows[0].ns, 5 * 598000);
	assert_line(&all, all.waits.rows[0].recorded_line, "model.py:42 Block.forward");
	assert_int_equal(all.waits.rows[1].recorded_line, NONE);
	assert_int_equal(all.waits.rows[1].stream, NONE);
	analyses_free(&all);
	model_free(model);
}

static const struct line_tally_row *row_of(const struct analyses *all, uint16_t api)
{
	for (size_t i = 0; i < all->api_times.count; i++)
		if (all->api_times.rows[i].part[0] == api)
			return &all->api_times.rows[i];
	return NULL;
}

static void time_in_calls_is_by_function_with_the_line_that_has_most(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_API_TIMES));
	assert_int_equal(all.api_times.rows[0].part[0], WAIT_API);
	assert_int_equal(all.api_times.rows[0].ns, 20 * 600000);
	assert_int_equal(all.api_times.rows[0].more, 20);
	assert_line(&all, all.api_times.rows[0].line, "train.py:27 train_step");
	assert_int_equal(all.api_times.more, 20 * 6);
	analyses_free(&all);
	model_free(model);
}

static void a_call_that_has_not_returned_counts_without_time(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;
	uint32_t lost = 0;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].api == WAIT_API && lost++ < 5)
			model->calls[i].end_ns = 0;
	analyze_model(&all, model, ANALYSES(ANALYZE_API_TIMES));
	assert_int_equal(row_of(&all, WAIT_API)->count, 20);
	assert_int_equal(row_of(&all, WAIT_API)->more, 15);
	assert_int_equal(row_of(&all, WAIT_API)->ns, 15 * 600000);
	analyses_free(&all);
	model_free(model);
}

static void without_any_return_functions_are_by_number_of_calls(void **state)
{
	struct model *model = sample_model(1, 4);
	struct analyses all;

	for (uint32_t i = 0; i < model->call_count; i++) {
		model->calls[i].end_ns = 0;
		if (model->calls[i].api == WAIT_API && i > 6)
			model->calls[i].api = CUDA_LAUNCH;
	}
	analyze_model(&all, model, ANALYSES(ANALYZE_API_TIMES));
	assert_int_equal(all.api_times.more, 0);
	assert_int_equal(all.api_times.rows[0].part[0], CUDA_LAUNCH);
	assert_int_equal(all.api_times.rows[0].count, 7);
	assert_line(&all, all.api_times.rows[0].line, "model.py:42 Block.forward");
	analyses_free(&all);
	model_free(model);
}

static void failed_calls_are_by_error_call_and_line(void **state)
{
	struct model *model = sample_model(1, 4);
	struct analyses all;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].api == CUDA_LAUNCH || (model->calls[i].api == WAIT_API && i < 6))
			model->calls[i].result = 700;
	analyze_model(&all, model, ANALYSES(ANALYZE_FAILURES));
	assert_int_equal(all.failures.events, 5);
	assert_int_equal(all.failures.more, 4);
	assert_int_equal(all.failures.count, 2);
	assert_int_equal(all.failures.rows[0].part[1], CUDA_LAUNCH);
	assert_int_equal(all.failures.rows[0].part[0], 700);
	assert_int_equal(all.failures.rows[0].count, 4);
	assert_line(&all, all.failures.rows[0].line, "model.py:42 Block.forward");
	analyses_free(&all);
	model_free(model);
}

static void compilations_are_by_line_and_by_what_was_done(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_jit jits[] = {
		{.start_ns = 10, .end_ns = 40, .call = 0, .operation = 2, .entry = 1},
		{.start_ns = 50, .end_ns = 55, .call = 0, .operation = 1},
		{.start_ns = 60, .end_ns = 90, .call = 0, .operation = 2, .entry = 1},
		{.start_ns = 95, .end_ns = 96, .call = NONE, .operation = 2, .entry = 1},
	};
	struct model_jit *none = model->jits;
	struct analyses all;

	model->jits = jits;
	model->jit_count = 4;
	analyze_model(&all, model, ANALYSES(ANALYZE_JIT));
	assert_int_equal(all.jit.count, 3);
	assert_line(&all, all.jit.rows[0].line, "model.py:42 Block.forward");
	assert_int_equal(all.jit.rows[0].part[0], 2);
	assert_int_equal(all.jit.rows[0].part[1], 1);
	assert_int_equal(all.jit.rows[0].ns, 60);
	assert_int_equal(all.jit.rows[0].count, 2);
	assert_line(&all, all.jit.rows[2].line, "(call not seen)");
	analyses_free(&all);
	model->jits = none;
	model->jit_count = 0;
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_cupti_reported_counts_by_its_word_and_says_for_which_stream),
		cmocka_unit_test(a_wait_that_no_one_reported_is_the_time_in_its_call),
		cmocka_unit_test(a_wait_for_an_event_names_the_line_that_recorded_it),
		cmocka_unit_test(time_in_calls_is_by_function_with_the_line_that_has_most),
		cmocka_unit_test(a_call_that_has_not_returned_counts_without_time),
		cmocka_unit_test(without_any_return_functions_are_by_number_of_calls),
		cmocka_unit_test(failed_calls_are_by_error_call_and_line),
		cmocka_unit_test(compilations_are_by_line_and_by_what_was_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
