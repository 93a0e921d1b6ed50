/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the model reports about its own completeness, and the clock on which its GPU times depend. */
#include "model_of.h"

#define SECOND 1000000000ull
#define WALL 1700000000000000000ll /* CLOCK_REALTIME minus CLOCK_MONOTONIC */

static void add_kernel(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){.start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr});
}

static void add_return(struct log_builder *log, uint32_t corr, uint64_t end_ns, int32_t result)
{
	log_agent_api(log,
		      (struct gpt_agent_api){.end_ns = end_ns, .corr = corr, .result = result, .api = CUDA_LAUNCH});
}

static void wall_sample(struct log_builder *log, uint64_t mono_ns, int64_t offset_ns, uint64_t error_ns)
{
	log_clock(log, (struct gpt_clock){.mono_ns = mono_ns, .wall_offset_ns = offset_ns, .error_ns = error_ns});
}

static void launches_are_expected_joined_and_failed_as_they_were(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 0); /* before the agent was ready */
	for (uint32_t corr = 1; corr <= 4; corr++)
		log_launch(&log, PID, TID, 100 + corr, 0, corr);
	log_call(&log,
		 (struct gpt_call){
			 .time_ns = 110, .pid = PID, .tid = TID, .corr = 5, .api = GPT_API(GPT_DOMAIN_RUNTIME, 41)});
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 1, 200, 210);
	add_kernel(&log, 2, 210, 230);
	add_return(&log, 2, 120, 0);
	add_return(&log, 4, 120, 98);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.calls, 6);
	assert_int_equal(model_source(model)->receipt.launches, 4);
	assert_int_equal(model_source(model)->receipt.launches_failed, 1);
	assert_int_equal(model_source(model)->receipt.launches_expected, 3);
	assert_int_equal(model_source(model)->receipt.launches_joined, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ns, 30);
	assert_int_equal(model_source(model)->receipt.launches_no_agent, 1);
	assert_int_equal(model_launches_meant(model), 4);
	assert_int_equal(model_completeness(model), 50000);
	model_free(model);
}

static void a_launch_under_capture_is_not_expected_on_the_gpu(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 101, 0, 1);
	log_launch(&log, PID, TID, 102, 0, 2);
	log_batch(&log, PID, TID, 900);
	log_agent_api(&log, (struct gpt_agent_api){.hdr.flags = 0,
						   .start_ns = 102,
						   .end_ns = 103,
						   .corr = 2,
						   .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
						   .flags = GPT_AGENT_API_CAPTURED});
	add_kernel(&log, 1, 200, 210);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches, 2);
	assert_int_equal(model_source(model)->receipt.launches_captured, 1);
	assert_int_equal(model_source(model)->receipt.launches_expected, 1);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	assert_false(model->calls[0].captured);
	assert_true(model->calls[1].captured);
	assert_int_equal(model_completeness(model), MODEL_COMPLETE);
	model_free(model);
}

static void end_with_counters(struct log_builder *log, enum gpt_counter which, uint64_t value)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {0};

	counters[which] = value;
	log_end_with(log,
		     &(struct gpt_end){.time_ns = 1000, .cpu_ns = 7, .ring_bytes = 8, .ring_bytes_max = 9, .reason = 2},
		     counters);
}

static void lost_calls_count_against_completeness_with_and_without_an_agent(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 1, 200, 210);
	end_with_counters(&log, GPT_COUNTER_CALLS_LOST, 3);
	model = model_of(&log);
	assert_int_equal(model_completeness(model), 25000);
	assert_int_equal(model_source(model)->receipt.lost, 3);
	assert_int_equal(model_source(model)->receipt.end_reason, GPT_END_INTERRUPTED);
	assert_int_equal(model_source(model)->receipt.cpu_ns, 7);
	assert_int_equal(model_source(model)->receipt.ring_bytes, 8);
	assert_int_equal(model_source(model)->receipt.ring_bytes_max, 9);
	model_free(model);

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 0);
	end_with_counters(&log, GPT_COUNTER_CALLS_LOST, 1);
	model = model_of(&log);
	assert_int_equal(model_completeness(model), 50000);
	model_free(model);
}

static void nothing_lost_and_nothing_expected_is_complete(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model_completeness(model), MODEL_COMPLETE);
	model_free(model);
}

static void every_cause_of_loss_is_summed(void **state)
{
	const enum gpt_counter causes[] = {
#define CAUSE(counter, name, kind, words) GPT_COUNTER_##counter,
		GPT_COUNTER_LOSSES(CAUSE)
#undef CAUSE
	};
	struct log_builder log;
	struct model *model;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		log_begin(&log, 0, 0);
		end_with_counters(&log, causes[i], 5);
		model = model_of(&log);
		assert_int_equal(model_source(model)->receipt.lost, 5);
		assert_int_equal(model_source(model)->receipt.counters[causes[i]], 5);
		model_free(model);
	}
	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 10);
	log_agent_stats(&log, (struct gpt_agent_stats){.cupti_dropped = 1, .names_dropped = 2});
	log_process_event(&log, GPT_EXEC, 1, 0, 20, "again");
	log_batch(&log, 1, 1, 30);
	log_agent_stats(&log, (struct gpt_agent_stats){.cupti_dropped = 10, .buffers_refused = 20});
	log_batch(&log, 2, 2, 30);
	log_agent_stats(&log, (struct gpt_agent_stats){.api_dropped = 100, .malformed = 200});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.cupti_dropped, 11);
	assert_int_equal(model_source(model)->receipt.lost, 333);
	model_free(model);
}

static void a_count_of_dropped_records_that_was_not_to_be_had_is_not_zero(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 10);
	log_agent_stats(&log, (struct gpt_agent_stats){.dropped_unknown = 3});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.cupti_dropped, 0);
	assert_int_equal(model_source(model)->receipt.dropped_unknown, 3);
	assert_int_equal(model_source(model)->receipt.lost, 3);
	model_free(model);
}

static void agent_says(struct log_builder *log, uint64_t time_ns, enum gpt_agent_state state, uint64_t dropped)
{
	log_batch(log, 1, 1, time_ns);
	log_agent_stats(log, (struct gpt_agent_stats){.cupti_dropped = dropped});
	log_agent_hello(log, state, GPT_AGENT_OK, 130001, "", "");
}

static void what_an_agent_lost_for_another_trace_before_this_one_came_is_no_loss(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	agent_says(&log, 10, GPT_AGENT_READY, 1000);
	agent_says(&log, 20, GPT_AGENT_READY, 1002); /* a third trace came */
	log_batch(&log, 1, 1, 30);
	log_agent_stats(&log, (struct gpt_agent_stats){.cupti_dropped = 1007});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.cupti_dropped, 7);
	assert_int_equal(model_source(model)->receipt.lost, 7);
	model_free(model);
}

/* Of a user's process that says what it likes, in a trace of the machine. */
static void a_count_that_no_process_can_have_hides_nothing_that_others_lost(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 10);
	log_agent_stats(&log, (struct gpt_agent_stats){.malformed = UINT64_MAX / 2});
	log_agent_stats(&log, (struct gpt_agent_stats){.functions_before = 1ull << 40});
	log_batch(&log, 2, 2, 20);
	log_agent_stats(&log, (struct gpt_agent_stats){.cupti_dropped = 7});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.lost, 7);
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

static void a_session_that_begins_after_the_end_of_another_traces_counts_from_zero(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	agent_says(&log, 10, GPT_AGENT_STOPPED, 1000);
	log_batch(&log, 1, 1, 20);
	log_agent_hello(&log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "", "");
	log_agent_stats(&log, (struct gpt_agent_stats){.cupti_dropped = 3});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.lost, 3);
	model_free(model);
}

/* Launches 1 and 2, of which only the first has a kernel, and what the agent said last. */
static const struct model_receipt *receipt_of_two(struct model **model, enum gpt_agent_state last, bool ends)
{
	struct log_builder log;

	log_begin(&log, 0, 0);
	agent_says(&log, 10, GPT_AGENT_READY, 0);
	log_launch(&log, 1, 1, 100, 0, 1);
	log_launch(&log, 1, 1, 300, 0, 2);
	log_batch(&log, 1, 1, 310);
	add_kernel(&log, 1, 200, 210);
	if (last != GPT_AGENT_READY)
		agent_says(&log, 400, last, 0);
	if (ends)
		log_end(&log, 1000);
	*model = model_of(&log);
	return &model_source(*model)->receipt;
}

static void what_an_agent_that_never_stopped_kept_is_counted_where_the_trace_ended_as_it_should(void **state)
{
	const struct {
		enum gpt_agent_state last;
		bool ends;
		unsigned launches;
	} cases[] = {{GPT_AGENT_READY, true, 1}, {GPT_AGENT_STOPPED, true, 0}, {GPT_AGENT_READY, false, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *model;
		const struct model_receipt *receipt = receipt_of_two(&model, cases[i].last, cases[i].ends);

		assert_int_equal(receipt->launches_expected - receipt->launches_joined, 1);
		assert_int_equal(receipt->cut_launches, cases[i].launches);
		assert_int_equal(receipt->cut_alive, cases[i].launches);
		model_free(model);
	}
}

static void kernels_of_code_loaded_before_are_no_loss(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 10);
	log_agent_stats(&log, (struct gpt_agent_stats){.places_lost = 4, .functions_before = 3});
	log_process_event(&log, GPT_EXEC, 1, 0, 20, "again");
	log_batch(&log, 1, 1, 30);
	log_agent_stats(&log, (struct gpt_agent_stats){.functions_before = 5});
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.functions_before, 8);
	assert_int_equal(model_source(model)->receipt.places_lost, 4);
	assert_int_equal(model_source(model)->receipt.lost, 4);
	model_free(model);
}

static void counters_of_an_older_agent_are_read(void **state)
{
	struct gpt_agent_stats stats = {.calls = 1, .cupti_dropped = 4, .dropped_unknown = 9};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 10);
	log_put(&log, GPT_AGENT_STATS, &stats, GPT_AGENT_STATS_FIRST, NULL, 0);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.cupti_dropped, 4);
	assert_int_equal(model_source(model)->receipt.dropped_unknown, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void only_the_stated_number_of_counters_is_read(void **state)
{
	struct gpt_end end = {.time_ns = 5, .counters_count = GPT_COUNTER_COUNT + 3, .reason = 99};
	uint64_t counters[GPT_COUNTER_COUNT + 3];
	struct log_builder log;
	struct model *model;

	for (size_t i = 0; i < GPT_COUNTER_COUNT + 3; i++)
		counters[i] = i + 1;
	log_begin(&log, 0, 0);
	log_put(&log, GPT_END, &end, sizeof(end), counters, sizeof(counters));
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.counters[GPT_COUNTER_COUNT - 1], GPT_COUNTER_COUNT);
	assert_int_equal(model_source(model)->receipt.end_reason, GPT_END_ERROR);
	model_free(model);
}

static void gpu_time_is_on_a_line_when_the_innermost_frame_has_one(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, 1, "f", "a.py", 10);
	log_stack(&log, PID, 1, 2, (struct gpt_pyframe[]){{.code = 1}, {.code = 2}});
	log_stack(&log, PID, 2, 2, (struct gpt_pyframe[]){{.code = 2}, {.code = 1}});
	log_launch(&log, PID, TID, 100, 1, 1);
	log_launch(&log, PID, TID, 101, 2, 2);
	log_launch(&log, PID, TID, 102, 0, 3);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 1, 200, 201);
	add_kernel(&log, 2, 300, 310);
	add_kernel(&log, 3, 400, 500);
	add_kernel(&log, 4, 500, 1500);
	log_end(&log, 2000);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gpu_ns, 1111);
	assert_int_equal(model_source(model)->receipt.gpu_ns_with_line, 1);
	assert_int_equal(model_source(model)->receipt.calls_with_stack, 2);
	assert_int_equal(model_source(model)->receipt.launches_with_stack, 2);
	model_free(model);
}

static void operations_without_times_are_counted_and_come_first(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 1000 * SECOND, WALL);
	log_launch(&log, PID, TID, 1001 * SECOND, 0, 1);
	log_batch(&log, PID, TID, 1002 * SECOND);
	add_kernel(&log, 1, WALL + 1001 * SECOND, WALL + 1001 * SECOND + 5);
	add_kernel(&log, 1, 0, 0);
	log_end(&log, 1003 * SECOND);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.gpu_ops_untimed, 1);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	assert_int_equal(model->gpu[0].end_ns, 0);
	assert_int_equal(model->calls[0].gpu_count, 2);
	assert_int_equal(model_source(model)->receipt.gpu_ns, 5);
	model_free(model);
}

static void invented_times_are_not_believed(void **state)
{
	const uint64_t now = WALL + 1001 * SECOND;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 1000 * SECOND * 10, WALL);
	log_batch(&log, PID, TID, 10001 * SECOND);
	add_kernel(&log, 1, now + 9000 * SECOND, UINT64_MAX);
	add_kernel(&log, 1, 1, 2);
	add_kernel(&log, 1, UINT64_MAX - 1, UINT64_MAX);
	add_kernel(&log, 1, now + 9001 * SECOND, now + 9000 * SECOND);
	log_agent_overhead(&log, (struct gpt_agent_overhead){.start_wall_ns = 1, .end_wall_ns = 2});
	log_agent_overhead(&log, (struct gpt_agent_overhead){.start_wall_ns = 2, .end_wall_ns = 1});
	log_agent_overhead(&log, (struct gpt_agent_overhead){.start_wall_ns = now + 9000 * SECOND,
							     .end_wall_ns = now + 9000 * SECOND + 5,
							     .kind = 1 << 16,
							     .tid = 12});
	log_end(&log, 10003 * SECOND);
	model = model_of(&log);
	assert_int_equal(model->gpu_count, 3);
	assert_int_equal(model_source(model)->receipt.gpu_ops_untimed, 3);
	assert_int_equal(model_source(model)->receipt.bad_records, 6);
	assert_int_equal(model_source(model)->receipt.gpu_ns, 0);
	assert_int_equal(model->overhead_count, 1);
	assert_int_equal(model->overheads[0].start_ns, 10001 * SECOND);
	assert_int_equal(model->overheads[0].tid, 12);
	model_free(model);
}

static void gpu_times_become_monotonic_by_what_all_samples_allow(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10 * SECOND, WALL);
	wall_sample(&log, 10 * SECOND, WALL, 50);
	wall_sample(&log, 11 * SECOND, WALL + 20, 60);
	wall_sample(&log, 12 * SECOND, WALL - 10, 40);
	log_launch(&log, PID, TID, 10 * SECOND, 0, 1);
	log_batch(&log, PID, TID, 12 * SECOND);
	add_kernel(&log, 1, WALL + 10 * SECOND + 100, WALL + 10 * SECOND + 300);
	add_kernel(&log, 1, WALL + 11 * SECOND + 100, WALL + 11 * SECOND + 300);
	log_end(&log, 13 * SECOND);
	model = model_of(&log);
	/* -40 to 30 ns are within the errors of all three */
	assert_int_equal(model->gpu[0].start_ns, 10 * SECOND + 100 + 5);
	assert_int_equal(model->gpu[1].start_ns, 11 * SECOND + 100 + 5);
	assert_int_equal(model->gpu[1].end_ns, 11 * SECOND + 300 + 5);
	assert_int_equal(model_source(model)->receipt.clock_steps, 0);
	assert_int_equal(model_source(model)->receipt.clock_error_ns, 35);
	model_free(model);
}

static void kernels_that_follow_each_other_do_not_overlap_where_a_sample_differs(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10 * SECOND, WALL);
	wall_sample(&log, 10 * SECOND, WALL, 25);
	wall_sample(&log, 11 * SECOND, WALL + 10, 25);
	for (unsigned i = 0; i < 10; i++) /* less than a step away, and allow no offset of the first two */
		wall_sample(&log, 12 * SECOND + i * SECOND / 10, WALL + 500, 25);
	log_batch(&log, PID, TID, 12 * SECOND);
	for (unsigned i = 0; i < 20; i++)
		add_kernel(&log, 1, WALL + 10 * SECOND + i * SECOND / 10, WALL + 10 * SECOND + (i + 1) * SECOND / 10);
	log_end(&log, 13 * SECOND);
	model = model_of(&log);
	for (unsigned i = 1; i < 20; i++)
		assert_int_equal(model->gpu[i].start_ns, model->gpu[i - 1].end_ns);
	assert_int_equal(model_source(model)->receipt.clock_steps, 0);
	assert_int_equal(model_source(model)->receipt.clock_error_ns, 20 + (500 - 25 - 25));
	model_free(model);
}

static void times_of_a_process_go_by_its_own_agents_samples(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10 * SECOND, WALL);
	wall_sample(&log, 10 * SECOND, WALL, 50);
	log_batch(&log, PID, TID, 20 * SECOND);
	log_agent_clock(&log,
			(struct gpt_agent_clock){.mono_ns = 20 * SECOND, .wall_offset_ns = WALL + 70, .error_ns = 90});
	add_kernel(&log, 1, WALL + 19 * SECOND, WALL + 19 * SECOND + 10);
	log_batch(&log, PID + 1, TID, 20 * SECOND); /* its agent is in another time namespace */
	log_agent_clock(&log,
			(struct gpt_agent_clock){.mono_ns = 2000 * SECOND, .wall_offset_ns = WALL - 1980 * SECOND});
	add_kernel(&log, 1, WALL + 19 * SECOND + 5, WALL + 19 * SECOND + 10);
	log_end(&log, 21 * SECOND);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].start_ns, 19 * SECOND - 70);
	assert_int_equal(model->gpu[1].start_ns, 19 * SECOND + 5);
	assert_int_equal(model_source(model)->receipt.clock_error_ns, 90);
	assert_int_equal(model_source(model)->receipt.bad_records, 1);
	model_free(model);
}

/* The wall clock is set by `step` between 12 s and 13 s; one kernel is 1 s before, one 1 s after. */
static void check_step(int64_t step)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10 * SECOND, WALL);
	for (unsigned s = 10; s <= 12; s++)
		wall_sample(&log, s * SECOND, WALL, 50);
	for (unsigned s = 13; s <= 15; s++)
		wall_sample(&log, s * SECOND, WALL + step, 50);
	log_launch(&log, PID, TID, 11 * SECOND + 100, 0, 1);
	log_launch(&log, PID, TID, 14 * SECOND + 100, 0, 2);
	log_batch(&log, PID, TID, 15 * SECOND);
	add_kernel(&log, 2, WALL + step + 14 * SECOND + 200, WALL + step + 14 * SECOND + 300);
	add_kernel(&log, 1, WALL + 11 * SECOND + 200, WALL + 11 * SECOND + 300);
	log_end(&log, 16 * SECOND);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.clock_steps, 1);
	assert_int_equal(model->gpu[0].start_ns, 11 * SECOND + 200);
	assert_int_equal(model->gpu[1].start_ns, 14 * SECOND + 200);
	assert_int_equal(model_source(model)->receipt.early, 0);
	assert_int_equal(model_source(model)->receipt.clock_error_ns, 50);
	model_free(model);
}

static void a_step_of_the_wall_clock_moves_no_kernel(void **state)
{
	check_step(3600 * (int64_t)SECOND);
	check_step(1000000);
	check_step(-1000000);
	check_step(-3600 * (int64_t)SECOND);
}

/* Set back by 3 s: the wall times from 11 s to 14 s occur twice. */
static void a_wall_time_that_came_twice_is_kept_apart_by_its_call(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10 * SECOND, WALL);
	for (unsigned s = 10; s <= 14; s++)
		wall_sample(&log, s * SECOND, WALL, 50);
	for (unsigned s = 15; s <= 18; s++)
		wall_sample(&log, s * SECOND, WALL - 3 * (int64_t)SECOND, 50);
	log_launch(&log, PID, TID, 13 * SECOND, 0, 1);
	log_launch(&log, PID, TID, 16 * SECOND, 0, 2);
	log_batch(&log, PID, TID, 18 * SECOND);
	add_kernel(&log, 1, WALL + 13 * SECOND + 10, WALL + 13 * SECOND + 20);
	add_kernel(&log, 2, WALL + 13 * SECOND + 10, WALL + 13 * SECOND + 20);
	log_end(&log, 19 * SECOND);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].start_ns, 13 * SECOND + 10);
	assert_int_equal(model->gpu[0].corr, 1);
	assert_int_equal(model->gpu[1].start_ns, 16 * SECOND + 10);
	model_free(model);
}

static void a_gpu_start_before_its_call_is_reported_beyond_the_clock_error(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, SECOND, WALL);
	wall_sample(&log, SECOND, WALL, 100);
	log_launch(&log, PID, TID, 2 * SECOND, 0, 1);
	log_launch(&log, PID, TID, 3 * SECOND, 0, 2);
	log_batch(&log, PID, TID, 4 * SECOND);
	add_kernel(&log, 1, WALL + 2 * SECOND - 100, WALL + 2 * SECOND);
	add_kernel(&log, 2, WALL + 3 * SECOND - 101, WALL + 3 * SECOND);
	log_end(&log, 5 * SECOND);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.early, 1);
	assert_int_equal(model_source(model)->receipt.early_max_ns, 101);
	assert_int_equal(model->gpu[1].start_ns, 3 * SECOND - 101); /* kept as it is */
	model_free(model);
}

static void a_clock_that_never_stops_stepping_does_not_stop_us(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, SECOND, WALL);
	for (unsigned i = 0; i < 100000; i++)
		wall_sample(&log, SECOND + i, WALL + (i % 7) * SECOND, 0);
	log_batch(&log, PID, TID, SECOND);
	for (unsigned i = 0; i < 20000; i++)
		add_kernel(&log, 0, WALL + SECOND + i, WALL + SECOND + i + 1);
	log_end(&log, 2 * SECOND);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.clock_steps, 99999);
	assert_int_equal(model->gpu_count, 20000);
	model_free(model);
}

static void the_session_is_as_it_was_recorded(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 5, WALL);
	log_session(&log, "1.2.3", "host", "6.18.0", "pid 7", 64, 95, 1);
	log_text(&log, GPT_PROBES, 0, "libcudart.so.13: 101 sites");
	log_text(&log, GPT_NOTE, 0, "no agent");
	log_end(&log, 9);
	model = model_of(&log);
	assert_string_equal(model_source(model)->version, "1.2.3");
	assert_string_equal(model_source(model)->host, "host");
	assert_string_equal(model_source(model)->kernel, "6.18.0");
	assert_string_equal(model_source(model)->target, "pid 7");
	assert_int_equal(model_source(model)->cpus, 64);
	assert_int_equal(model->min_complete, 95000);
	assert_true(model->metric_launches);
	assert_int_equal(model_source(model)->wall_offset_ns, WALL);
	assert_int_equal(model->probe_count, 1);
	assert_string_equal(model->probes[0], "libcudart.so.13: 101 sites");
	assert_string_equal(model->notes[0], "no agent");
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_are_expected_joined_and_failed_as_they_were),
		cmocka_unit_test(a_launch_under_capture_is_not_expected_on_the_gpu),
		cmocka_unit_test(lost_calls_count_against_completeness_with_and_without_an_agent),
		cmocka_unit_test(nothing_lost_and_nothing_expected_is_complete),
		cmocka_unit_test(every_cause_of_loss_is_summed),
		cmocka_unit_test(a_count_of_dropped_records_that_was_not_to_be_had_is_not_zero),
		cmocka_unit_test(what_an_agent_lost_for_another_trace_before_this_one_came_is_no_loss),
		cmocka_unit_test(a_count_that_no_process_can_have_hides_nothing_that_others_lost),
		cmocka_unit_test(a_session_that_begins_after_the_end_of_another_traces_counts_from_zero),
		cmocka_unit_test(what_an_agent_that_never_stopped_kept_is_counted_where_the_trace_ended_as_it_should),
		cmocka_unit_test(kernels_of_code_loaded_before_are_no_loss),
		cmocka_unit_test(counters_of_an_older_agent_are_read),
		cmocka_unit_test(only_the_stated_number_of_counters_is_read),
		cmocka_unit_test(gpu_time_is_on_a_line_when_the_innermost_frame_has_one),
		cmocka_unit_test(operations_without_times_are_counted_and_come_first),
		cmocka_unit_test(invented_times_are_not_believed),
		cmocka_unit_test(gpu_times_become_monotonic_by_what_all_samples_allow),
		cmocka_unit_test(kernels_that_follow_each_other_do_not_overlap_where_a_sample_differs),
		cmocka_unit_test(times_of_a_process_go_by_its_own_agents_samples),
		cmocka_unit_test(a_step_of_the_wall_clock_moves_no_kernel),
		cmocka_unit_test(a_wall_time_that_came_twice_is_kept_apart_by_its_call),
		cmocka_unit_test(a_gpu_start_before_its_call_is_reported_beyond_the_clock_error),
		cmocka_unit_test(a_clock_that_never_stops_stepping_does_not_stop_us),
		cmocka_unit_test(the_session_is_as_it_was_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
