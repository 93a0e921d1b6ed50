/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUPTI's own records of calls in place of its callbacks: which call each record belongs to. Times are in microseconds;
 * a call is identified by the `function` among its arguments, GPU work by its correlation id.
 */
#include "model_of.h"

#define US 1000ull
#define CUDA_MEMCPY GPT_API(GPT_DOMAIN_RUNTIME, 41)
#define OTHER_TID (TID + 1)
#define NOBODY UINT64_MAX

static void begin_log(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_thread(log, PID, TID, 1, "main");
	log_thread(log, PID, OTHER_TID, 1, "other");
	log_batch(log, PID, TID, 2);
	log_agent_hello(log, GPT_AGENT_BORROWING, GPT_AGENT_OK, 130001, "", "");
}

/* A call as a symbol probe sees it. */
static void seen_with(struct log_builder *log, uint32_t tid, uint64_t at_us, uint16_t api, uint64_t function,
		      uint16_t flags)
{
	struct gpt_call_args record = {.call = {.time_ns = at_us * US,
						.pid = PID,
						.tid = tid,
						.api = api,
						.origin = GPT_ORIGIN_SYMBOL,
						.stack_state = GPT_STACK_NO_PYTHON},
				       .function = function};

	record.call.hdr.flags = flags;
	log_batch_end(log);
	log_call_args(log, record);
	((struct gpt_record *)(log->data + log->size - sizeof(record)))->flags = flags;
}

static void add_seen(struct log_builder *log, uint32_t tid, uint64_t at_us, uint64_t function)
{
	seen_with(log, tid, at_us, CUDA_LAUNCH, function, 0);
}

/* A call as CUPTI records it, with the kernel that it launched. */
static void activity_with(struct log_builder *log, uint32_t thread, uint64_t start_us, uint64_t end_us, uint32_t corr,
			  uint16_t api)
{
	log_batch(log, PID, TID, 900000 * US);
	log_agent_api_activity(log, (struct gpt_agent_api_activity){.start_wall_ns = start_us * US,
								    .end_wall_ns = end_us * US,
								    .corr = corr,
								    .api = api,
								    .thread = thread});
	log_agent_kernel(log, (struct gpt_agent_kernel){.corr = corr,
							.start_wall_ns = end_us * US + 500,
							.end_wall_ns = end_us * US + 600});
}

static void add_activity(struct log_builder *log, uint32_t thread, uint64_t start_us, uint64_t end_us, uint32_t corr)
{
	activity_with(log, thread, start_us, end_us, corr, CUDA_LAUNCH);
}

static struct model *end_log(struct log_builder *log)
{
	log_end(log, 1000000 * US);
	return model_of(log);
}

/* The function of the call to which the kernel with this correlation id belongs. */
static uint64_t calling_function(const struct model *model, uint32_t corr)
{
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].corr == corr) {
			uint32_t call = model->gpu[i].call;

			return call == NONE ? NOBODY : model->args[model->calls[call].args].function;
		}
	fail_msg("no kernel %u", corr);
	return 0;
}

static void each_record_finds_the_call_just_before_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	for (uint64_t i = 1; i <= 4; i++)
		add_seen(&log, TID, i * 100, i);
	for (uint32_t i = 4; i; i--) /* in any order */
		add_activity(&log, TID, i * 100 + 3, i * 100 + 8, i);
	model = end_log(&log);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(calling_function(model, i), i);
	assert_int_equal(model->calls[1].corr, 2);
	assert_int_equal(model->calls[1].end_ns, 208 * US);
	assert_int_equal(model_source(model)->receipt.launches_expected, 4);
	assert_int_equal(model_source(model)->receipt.launches_joined, 4);
	assert_int_equal(model_completeness(model), MODEL_COMPLETE);
	model_free(model);
}

static void a_record_that_is_lost_moves_no_other(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	for (uint64_t i = 1; i <= 5; i++)
		add_seen(&log, TID, i * 10, i);
	add_activity(&log, TID, 13, 18, 1);
	add_activity(&log, TID, 43, 48, 4);
	model = end_log(&log);
	assert_int_equal(calling_function(model, 1), 1);
	assert_int_equal(calling_function(model, 4), 4);
	assert_int_equal(model_source(model)->receipt.launches_expected, 5);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	model_free(model);
}

static void a_call_that_is_lost_takes_no_other_with_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 10, 1);
	/*
	 * at 20 there was no room for a call: the call before it may have lost its record and been given the next one
	 */
	add_seen(&log, TID, 30, 3);
	seen_with(&log, TID, 60, CUDA_LAUNCH, 6, GPT_CALL_AFTER_LOSS);
	add_seen(&log, TID, 70, 7);
	add_activity(&log, TID, 13, 18, 1);
	add_activity(&log, TID, 23, 28, 2);
	add_activity(&log, TID, 33, 38, 3);
	add_activity(&log, TID, 43, 48, 4);
	add_activity(&log, TID, 63, 68, 6);
	add_activity(&log, TID, 73, 78, 7);
	model = end_log(&log);
	assert_int_equal(calling_function(model, 1), 1);
	assert_int_equal(calling_function(model, 2), NOBODY); /* the call before it has a record of its own */
	assert_int_equal(calling_function(model, 3), NOBODY);
	assert_int_equal(calling_function(model, 4), NOBODY);
	assert_int_equal(calling_function(model, 6), 6);
	assert_int_equal(calling_function(model, 7), 7);
	assert_int_equal(model_source(model)->receipt.gpu_ops - model_source(model)->receipt.gpu_ops_joined, 3);
	model_free(model);
}

static void the_calls_of_a_thread_are_its_own(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	for (uint64_t i = 1; i <= 6; i++) {
		add_seen(&log, TID, i * 10, i);
		add_seen(&log, OTHER_TID, i * 10 + 2, 100 + i);
	}
	for (uint32_t i = 1; i <= 6; i++) {
		add_activity(&log, OTHER_TID, i * 10 + 4, i * 10 + 7, 100 + i);
		add_activity(&log, TID, i * 10 + 3, i * 10 + 8, i);
	}
	add_activity(&log, TID + 2, 13, 18, 200); /* a thread whose calls were not seen */
	model = end_log(&log);
	for (uint32_t i = 1; i <= 6; i++) {
		assert_int_equal(calling_function(model, i), i);
		assert_int_equal(calling_function(model, 100 + i), 100 + i);
	}
	assert_int_equal(calling_function(model, 200), NOBODY);
	model_free(model);
}

static void a_thread_is_known_by_its_own_number_or_its_pointer(void **state)
{
	struct gpt_thread thread = {.pid = PID, .tid = TID, .own_tid = 7, .pointer = 0xabcdef40};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_thread_record(&log, thread);
	thread = (struct gpt_thread){.pid = PID, .tid = OTHER_TID, .own_tid = 8, .pointer = 0xabc0ef40};
	log_thread_record(&log, thread);
	add_seen(&log, TID, 10, 1);
	add_seen(&log, OTHER_TID, 10, 101);
	add_seen(&log, TID, 20, 2);
	add_seen(&log, OTHER_TID, 20, 102);
	add_activity(&log, 7, 13, 18, 1);
	add_activity(&log, 8, 13, 18, 101);
	add_activity(&log, 0xabcdef40, 23, 28, 2);
	add_activity(&log, 0xabc0ef40, 23, 28, 102);
	model = end_log(&log);
	assert_int_equal(calling_function(model, 1), 1);
	assert_int_equal(calling_function(model, 2), 2);
	assert_int_equal(calling_function(model, 101), 101);
	assert_int_equal(calling_function(model, 102), 102);
	model_free(model);
}

static void another_function_before_it_is_another_call(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	seen_with(&log, TID, 10, CUDA_MEMCPY, 1, 0);
	add_activity(&log, TID, 12, 18, 2);
	model = end_log(&log);
	assert_int_equal(calling_function(model, 2), NOBODY);
	model_free(model);
}

static void a_driver_call_inside_stands_for_the_runtime_call_that_was_not_seen(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 10, 1); /* its record is lost: the next record is another call's */
	seen_with(&log, TID, 52, GPT_API(GPT_DOMAIN_DRIVER, 243), 2, 0);
	seen_with(&log, TID, 55, CU_LAUNCH, 3, 0);
	add_activity(&log, TID, 50, 60, 5);
	model = end_log(&log);
	assert_int_equal(calling_function(model, 5), 3);
	model_free(model);
}

static void a_record_inside_another_is_of_the_same_call(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 10, 1);
	add_seen(&log, TID, 30, 3);
	add_activity(&log, TID, 12, 20, 1);
	activity_with(&log, TID, 14, 18, 2, CU_LAUNCH);
	add_activity(&log, TID, 32, 40, 3);
	activity_with(&log, TID, 38, 45, 4, CU_LAUNCH); /* neither inside nor after: no thread does that */
	model = end_log(&log);
	assert_int_equal(calling_function(model, 1), 1);
	assert_int_equal(calling_function(model, 2), 1);
	assert_int_equal(model->calls[0].corr, 1);
	assert_int_equal(model->calls[0].gpu_count, 2);
	assert_int_equal(calling_function(model, 3), 3);
	assert_int_equal(calling_function(model, 4), NOBODY);
	model_free(model);
}

/* Two calls close to the start of a record, with a clock that cannot tell which one came first. */
static void what_the_clock_cannot_keep_apart_has_no_call(void **state)
{
	struct gpt_agent_clock sample = {.mono_ns = 1 * US};
	struct log_builder log;
	struct model *model;

	for (unsigned good = 0; good < 2; good++) {
		begin_log(&log);
		log_batch(&log, PID, TID, 3);
		sample.error_ns = good ? 50 : 30 * US;
		log_agent_clock(&log, sample);
		add_seen(&log, TID, 100, 1);
		add_seen(&log, TID, 110, 2);
		add_activity(&log, TID, 102, 107, 1);
		add_seen(&log, OTHER_TID, 200, 3);
		add_activity(&log, OTHER_TID, 202, 207, 3);
		add_activity(&log, OTHER_TID, 210, 215, 4); /* its call was not seen */
		model = end_log(&log);
		assert_int_equal(calling_function(model, 1), good ? 1 : NOBODY);
		assert_int_equal(calling_function(model, 3), 3);
		assert_int_equal(calling_function(model, 4), NOBODY);
		model_free(model);
	}
}

static void a_call_that_had_to_wait_is_found_where_nothing_else_can_be_meant(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 1000, 1);
	add_activity(&log, TID, 6000, 6010, 1); /* off the CPU in between */
	add_seen(&log, TID, 7000, 2);
	add_activity(&log, TID, 7003, 7010, 2);
	add_seen(&log, TID, 10000, 3); /* its record is lost, or */
	add_seen(&log, TID, 10010, 4); /* that of this one */
	add_activity(&log, TID, 16000, 16010, 4);
	add_seen(&log, TID, 20000, 5);
	add_activity(&log, TID, 20800, 20810, 5); /* the call of one of these was not seen */
	add_activity(&log, TID, 20900, 20910, 6);
	add_seen(&log, TID, 30000, 7);
	add_activity(&log, TID, 160000, 160010, 7); /* no thread waits that long */
	model = end_log(&log);
	assert_int_equal(calling_function(model, 1), 1);
	assert_int_equal(calling_function(model, 2), 2);
	for (uint32_t corr = 4; corr <= 7; corr++)
		assert_int_equal(calling_function(model, corr), NOBODY);
	model_free(model);
}

static void work_of_calls_before_and_after_the_trace_is_left_out(void **state)
{
	static const uint32_t outside[] = {9, 31, 40};
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 100, 10);
	add_seen(&log, TID, 300, 30);
	add_activity(&log, TID, 103, 108, 10);
	add_activity(&log, TID, 203, 208, 20); /* recorded but not seen: counted */
	add_activity(&log, TID, 303, 308, 30);
	add_activity(&log, TID, 1000001, 1000003, 31); /* the probes are gone, the agent not yet */
	for (unsigned i = 0; i < 3; i++)
		log_agent_kernel(&log, (struct gpt_agent_kernel){.corr = outside[i],
								 .start_wall_ns = 999 * US,
								 .end_wall_ns = 1001 * US});
	model = end_log(&log);
	assert_int_equal(model_source(model)->receipt.gpu_ops, 3);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 2);
	assert_int_equal(calling_function(model, 20), NOBODY);
	assert_int_equal(model->processes[0].gpu_ops, 3);
	model_free(model);
}

static void a_launch_without_a_record_is_missed_while_the_agent_borrows(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_thread(&log, PID, TID, 1, "main");
	add_seen(&log, TID, 10, 1); /* before */
	log_batch(&log, PID, TID, 15 * US);
	log_agent_hello(&log, GPT_AGENT_BORROWING, GPT_AGENT_OK, 130001, "", "");
	add_seen(&log, TID, 20, 2);
	add_seen(&log, TID, 30, 3);
	add_activity(&log, TID, 33, 38, 3);
	add_seen(&log, TID, 40, 4); /* the agent has left CUPTI and will report it: the program ends */
	log_batch(&log, PID, TID, 60 * US);
	log_agent_hello(&log, GPT_AGENT_STOPPED, GPT_AGENT_OK, 130001, "", "");
	add_seen(&log, TID, 70, 5);
	model = end_log(&log);
	assert_int_equal(model_source(model)->receipt.launches, 5);
	assert_int_equal(model_source(model)->receipt.launches_expected, 2);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	model_free(model);
}

static void launches_in_the_others_session_are_explained_by_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_cupti_use(&log,
		      (struct gpt_cupti_use){
			      .time_ns = 200000 * US, .pid = PID, .tid = TID, .what = GPT_CUPTI_REGISTER, .own = 0});
	log_cupti_use(&log,
		      (struct gpt_cupti_use){
			      .time_ns = 400000 * US, .pid = PID, .tid = TID, .what = GPT_CUPTI_REGISTER, .own = 1});
	for (uint64_t i = 1; i <= 5; i++)
		add_seen(&log, TID, i * 100000 - 50000, i);
	add_activity(&log, TID, 50003, 50008, 1);
	add_activity(&log, TID, 450003, 450008, 5);
	model = end_log(&log);
	assert_int_equal(model_source(model)->receipt.launches_expected, 5);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	assert_int_equal(model_source(model)->receipt.gap_launches, 3);
	model_free(model);
}

static void add_capture(struct log_builder *log, uint64_t at_us, uint32_t corr, uint16_t cbid, int result)
{
	log_batch(log, PID, TID, 900000 * US);
	log_agent_api_activity(log, (struct gpt_agent_api_activity){.start_wall_ns = at_us * US,
								    .end_wall_ns = (at_us + 2) * US,
								    .corr = corr,
								    .api = GPT_API(GPT_DOMAIN_RUNTIME, cbid),
								    .result = result,
								    .thread = TID});
}

/* A launch without GPU work. */
static void add_silent(struct log_builder *log, uint32_t tid, uint64_t at_us, uint32_t corr)
{
	add_seen(log, tid, at_us, corr);
	log_batch(log, PID, TID, 900000 * US);
	log_agent_api_activity(log, (struct gpt_agent_api_activity){.start_wall_ns = (at_us + 3) * US,
								    .end_wall_ns = (at_us + 8) * US,
								    .corr = corr,
								    .api = CUDA_LAUNCH,
								    .thread = tid});
}

static void launches_of_a_process_that_captures_are_captured_unless_they_have_gpu_work(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_silent(&log, TID, 100, 1);
	add_capture(&log, 150, 2, 315, 0);
	add_silent(&log, TID, 200, 3);
	add_silent(&log, OTHER_TID, 200, 4); /* as autograd's threads do */
	add_seen(&log, OTHER_TID, 300, 5);
	add_activity(&log, OTHER_TID, 303, 308, 5); /* in a stream of its own */
	add_capture(&log, 400, 6, 319, 0);
	add_silent(&log, TID, 500, 7);
	add_capture(&log, 600, 8, 315, 1); /* refused */
	add_silent(&log, TID, 700, 9);
	add_capture(&log, 800, 10, 319, 1);
	model = end_log(&log);
	assert_int_equal(model_source(model)->receipt.launches_captured, 2);
	assert_int_equal(model_source(model)->receipt.launches_expected, 4);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	for (uint32_t i = 0; i < model->call_count; i++)
		assert_int_equal(model->calls[i].captured, model->calls[i].corr == 3 || model->calls[i].corr == 4);
	model_free(model);
}

static void records_that_make_no_sense_are_counted(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_seen(&log, TID, 10, 1);
	log_batch(&log, PID, TID, 900000 * US);
	log_agent_api_activity(&log, (struct gpt_agent_api_activity){.start_wall_ns = 13 * US, .end_wall_ns = 18 * US});
	log_agent_api_activity(
		&log, (struct gpt_agent_api_activity){.corr = 1, .start_wall_ns = 18 * US, .end_wall_ns = 13 * US});
	log_agent_api_activity(&log, (struct gpt_agent_api_activity){.corr = 1, .thread = TID});
	log_agent_api_activity(
		&log, (struct gpt_agent_api_activity){
			      .corr = 2, .thread = TID, .start_wall_ns = 1ull << 62, .end_wall_ns = 1ull << 63});
	model = end_log(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	assert_int_equal(model->calls[0].corr, 0);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_finds_the_call_just_before_it),
		cmocka_unit_test(a_record_that_is_lost_moves_no_other),
		cmocka_unit_test(a_call_that_is_lost_takes_no_other_with_it),
		cmocka_unit_test(the_calls_of_a_thread_are_its_own),
		cmocka_unit_test(a_thread_is_known_by_its_own_number_or_its_pointer),
		cmocka_unit_test(another_function_before_it_is_another_call),
		cmocka_unit_test(a_driver_call_inside_stands_for_the_runtime_call_that_was_not_seen),
		cmocka_unit_test(a_record_inside_another_is_of_the_same_call),
		cmocka_unit_test(what_the_clock_cannot_keep_apart_has_no_call),
		cmocka_unit_test(a_call_that_had_to_wait_is_found_where_nothing_else_can_be_meant),
		cmocka_unit_test(work_of_calls_before_and_after_the_trace_is_left_out),
		cmocka_unit_test(a_launch_without_a_record_is_missed_while_the_agent_borrows),
		cmocka_unit_test(launches_in_the_others_session_are_explained_by_it),
		cmocka_unit_test(launches_of_a_process_that_captures_are_captured_unless_they_have_gpu_work),
		cmocka_unit_test(records_that_make_no_sense_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
