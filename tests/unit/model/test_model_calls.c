/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls, their returns, and the GPU operations that belong to them. */
#include "model_of.h"

static void add_kernel(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){.start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr});
}

static void add_return(struct log_builder *log, uint32_t corr, uint64_t end_ns, int32_t result, uint16_t api)
{
	log_agent_api(log, (struct gpt_agent_api){.end_ns = end_ns, .corr = corr, .result = result, .api = api});
}

static void a_launch_meets_its_kernel_by_correlation_id(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_launch(&log, PID, TID, 200, 0, 8);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 8, 300, 310); /* first in time, but belongs to call 8, not 7 */
	add_kernel(&log, 7, 320, 330);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].corr, 8);
	assert_int_equal(model->calls[model->gpu[0].call].corr, 8);
	assert_int_equal(model->calls[model->gpu[1].call].corr, 7);
	assert_int_equal(model->calls[0].first_gpu, 1);
	assert_int_equal(model->calls[1].first_gpu, 0);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 2);
	model_free(model);
}

static void one_graph_launch_has_all_its_records_in_order_of_time(void **state)
{
	struct log_builder log;
	struct model *model;
	const struct model_call *call;

	log_begin(&log, 0, 0);
	log_call(&log,
		 (struct gpt_call){
			 .time_ns = 100, .pid = PID, .tid = TID, .corr = 5, .api = GPT_API(GPT_DOMAIN_RUNTIME, 311)});
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 5, 300, 310);
	log_agent_memcpy(&log,
			 (struct gpt_agent_memcpy){.start_wall_ns = 200, .end_wall_ns = 210, .corr = 5, .bytes = 64});
	log_agent_memset(&log,
			 (struct gpt_agent_memset){.start_wall_ns = 400, .end_wall_ns = 410, .corr = 5, .bytes = 32});
	log_end(&log, 1000);
	model = model_of(&log);
	call = &model->calls[0];
	assert_int_equal(call->class, GPT_CLASS_GRAPH);
	assert_int_equal(call->gpu_count, 3);
	assert_int_equal(model->gpu[call->first_gpu].kind, MODEL_MEMCPY);
	assert_int_equal(model->gpu[model->gpu[call->first_gpu].next].kind, MODEL_KERNEL);
	assert_int_equal(model->gpu[model->gpu[model->gpu[call->first_gpu].next].next].kind, MODEL_MEMSET);
	assert_int_equal(model->gpu[2].next, NONE);
	assert_int_equal(model_source(model)->receipt.launches_joined, 1);
	model_free(model);
}

static void gpu_records_and_returns_may_come_before_their_call(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 7, 300, 310);
	add_return(&log, 7, 150, 0, CUDA_LAUNCH);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].call, 0);
	assert_int_equal(model->calls[0].end_ns, 150);
	model_free(model);
}

static void a_gpu_record_without_a_call_stays_alone(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 8, 300, 310);
	add_kernel(&log, 0, 300, 310);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].call, NONE);
	assert_int_equal(model->gpu[1].call, NONE);
	assert_int_equal(model->calls[0].first_gpu, NONE);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 0);
	model_free(model);
}

static void equal_correlation_ids_of_two_processes_are_not_mixed(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, 1, 1, 100, 0, 7);
	log_launch(&log, 2, 2, 101, 0, 7);
	log_batch(&log, 2, 2, 900);
	add_kernel(&log, 7, 300, 310);
	log_batch(&log, 1, 1, 900);
	add_kernel(&log, 7, 400, 410);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->processes[model->gpu[0].process].pid, 2);
	assert_int_equal(model->gpu[0].call, 1);
	assert_int_equal(model->gpu[1].call, 0);
	model_free(model);
}

static void a_process_that_died_keeps_its_late_records(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_process_event(&log, GPT_EXIT, PID, 0, 500, "python3");
	log_batch(&log, PID, TID, 501);
	add_kernel(&log, 7, 300, 310);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->processes[0].exit_ns, 500);
	assert_int_equal(model->gpu[0].call, 0);
	model_free(model);
}

static void the_second_call_of_one_correlation_id_is_the_same_call(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_call(&log, (struct gpt_call){.time_ns = 105, .pid = PID, .tid = TID, .corr = 7, .api = CU_LAUNCH});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->calls[0].api, CUDA_LAUNCH);
	assert_int_equal(model->threads[0].calls, 1);
	model_free(model);
}

static void launch_with_args(struct log_builder *log, uint32_t tid, uint64_t time_ns)
{
	log_call_args(log, (struct gpt_call_args){.call = {.time_ns = time_ns,
							   .pid = PID,
							   .tid = tid,
							   .api = CUDA_LAUNCH,
							   .origin = GPT_ORIGIN_SYMBOL,
							   .stack_state = GPT_STACK_NO_PYTHON},
						  .function = 0xf00,
						  .stream = 2,
						  .grid = {3, 4, 5},
						  .block = {32, 1, 1},
						  .shared_bytes = 1024});
}

static void agent_call(struct log_builder *log, uint32_t tid, uint64_t time_ns, uint32_t corr, uint16_t api,
		       uint16_t flags)
{
	log_call(log, (struct gpt_call){.hdr.flags = flags,
					.time_ns = time_ns,
					.pid = PID,
					.tid = tid,
					.corr = corr,
					.api = api,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_NO_PYTHON});
}

static void nested_agent_call(struct log_builder *log, uint32_t tid, uint64_t time_ns, uint32_t corr, uint16_t api)
{
	agent_call(log, tid, time_ns, corr, api, GPT_CALL_NESTED_IN_SYMBOL);
}

/* CUDA and the agent start during this call, which takes long; the symbol probes have seen no other call since. */
static void a_call_in_which_the_agent_has_come_is_the_one_that_the_agent_reports(void **state)
{
	struct log_builder log;
	struct model *model;

	(void)state;
	log_begin(&log, 0, 0);
	launch_with_args(&log, TID, 10000000);
	log_batch(&log, PID, TID, 20000000);
	log_agent_ready(&log, "kernels");
	agent_call(&log, TID, 300000000, 1, CUDA_LAUNCH, GPT_CALL_NESTED_IN_SYMBOL | GPT_CALL_SURELY_NESTED);
	log_end(&log, 400000000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->calls[0].corr, 1);
	model_free(model);
}

/*
 * The first call after the symbol probes are gone, on a thread whose last call was before the agent: both are launches.
 */
static void a_call_from_before_the_agent_is_not_the_one_that_the_agent_reports_later(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	launch_with_args(&log, TID, 10000000);
	launch_with_args(&log, TID + 1, 19900000);
	log_batch(&log, PID, TID, 20000000);
	log_agent_ready(&log, "kernels");
	launch_with_args(&log, TID + 2, 20000001);
	nested_agent_call(&log, TID, 30000000, 1, CUDA_LAUNCH);
	nested_agent_call(&log, TID + 1, 20000010, 2, CUDA_LAUNCH); /* in progress when the agent came */
	nested_agent_call(&log, TID + 2, 30000000, 3, CUDA_LAUNCH); /* preempted for long; both probes were in place */
	log_end(&log, 40000000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 4);
	assert_int_equal(model_source(model)->receipt.launches_agent_away, 1);
	assert_int_equal(model->calls[0].corr, 0);
	assert_int_equal(model->calls[3].corr, 1);
	model_free(model);
}

static void a_call_seen_by_symbol_and_agent_is_one_call_with_both_their_knowledge(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	launch_with_args(&log, 11, 100);
	launch_with_args(&log, 12, 101);
	nested_agent_call(&log, 11, 110, 7, CUDA_LAUNCH);
	nested_agent_call(&log, 12, 111, 8, CUDA_LAUNCH);
	log_batch(&log, PID, TID, 900);
	add_kernel(&log, 7, 300, 310);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 2);
	assert_int_equal(model->calls[0].corr, 7);
	assert_int_equal(model->calls[1].corr, 8);
	assert_int_equal(model->calls[0].start_ns, 100);
	assert_int_equal(model->args[model->calls[0].args].grid[2], 5);
	assert_int_equal(model->args[model->calls[0].args].stream, 2);
	assert_int_equal(model->args[model->calls[0].args].shared_bytes, 1024);
	assert_int_equal(model->gpu[0].call, 0);
	model_free(model);
}

static void a_nested_call_whose_symbol_record_was_lost_is_a_call_of_its_own(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	launch_with_args(&log, TID, 100);
	nested_agent_call(&log, TID, 110, 7, CUDA_LAUNCH);
	nested_agent_call(&log, TID, 120, 8, CUDA_LAUNCH); /* the open call already has an id */
	launch_with_args(&log, TID, 130);
	nested_agent_call(&log, TID, 140, 9, GPT_API(GPT_DOMAIN_RUNTIME, 20)); /* an allocation is not a launch */
	nested_agent_call(&log, 99, 150, 10, CUDA_LAUNCH);		       /* nothing open on this thread */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 5);
	assert_int_equal(model->calls[0].corr, 7);
	assert_int_equal(model->calls[1].corr, 8);
	assert_int_equal(model->calls[2].corr, 0);
	assert_int_equal(model->calls[3].corr, 9);
	assert_int_equal(model->calls[4].corr, 10);
	model_free(model);
}

static void the_return_of_the_same_call_wins_over_that_of_the_call_inside(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_launch(&log, PID, TID, 200, 0, 8);
	log_batch(&log, PID, TID, 900);
	add_return(&log, 7, 140, 1, CU_LAUNCH);
	add_return(&log, 7, 150, 719, CUDA_LAUNCH);
	add_return(&log, 8, 250, 0, CUDA_LAUNCH);
	add_return(&log, 8, 240, 1, CU_LAUNCH);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->calls[0].end_ns, 150);
	assert_int_equal(model->calls[0].result, 719);
	assert_int_equal(model->calls[1].end_ns, 250);
	assert_int_equal(model->calls[1].result, 0);
	model_free(model);
}

static void a_return_before_its_call_in_time_is_not_believed(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, TID, 100, 0, 7);
	log_batch(&log, PID, TID, 900);
	add_return(&log, 7, 99, 0, CUDA_LAUNCH);
	add_return(&log, 0, 120, 0, CUDA_LAUNCH);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->calls[0].end_ns, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

static void calls_are_in_order_of_time_and_keep_their_partners(void **state)
{
	enum { COUNT = 5000 };
	struct log_builder log;
	struct model *model;
	uint64_t random = 1;

	log_begin(&log, 0, 0);
	for (uint32_t i = 1; i <= COUNT; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		/* few different times: many are equal, and equal ones keep the order of the log */
		log_launch(&log, PID, TID, 1000 + (random >> 33) % 700, 0, i);
	}
	log_batch(&log, PID, TID, 900000);
	for (uint32_t i = COUNT; i >= 1; i--) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		add_kernel(&log, i, 2000 + (random >> 33) % 900, 90000);
	}
	log_end(&log, 1000000);
	model = model_of(&log);
	assert_int_equal(model->call_count, COUNT);
	assert_int_equal(model->gpu_count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		const struct model_call *call = &model->calls[i];

		assert_int_equal(call->gpu_count, 1);
		assert_int_equal(model->gpu[call->first_gpu].corr, call->corr);
		assert_int_equal(model->gpu[call->first_gpu].call, i);
		if (i) {
			assert_true(call[-1].start_ns <= call->start_ns);
			assert_true(call[-1].start_ns < call->start_ns || call[-1].corr < call->corr);
			assert_true(model->gpu[i - 1].start_ns <= model->gpu[i].start_ns);
		}
	}
	model_free(model);
}

/* Each call has its kernel; one thread's calls are reported `event` other calls too late. */
static void check_late(uint32_t event)
{
	enum { CALLS = 300 };
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	for (uint32_t i = 1; i <= CALLS + event; i++) {
		if (i <= CALLS)
			log_launch(&log, PID, TID, i * 10, 0, i);
		if (i > event && i % 3 == 0)
			log_launch(&log, PID, TID + 1, (i - event) * 10 - 5, 0, CALLS + i - event);
	}
	log_batch(&log, PID, TID, 20000);
	for (uint32_t corr = 1; corr <= 2 * CALLS; corr++)
		add_kernel(&log, corr, 10000 + corr, 10001 + corr);
	log_end(&log, 30000);
	model = model_of(&log);
	for (uint32_t i = 0; i < model->call_count; i++) {
		assert_int_equal(model->calls[i].number, i);
		assert_true(!i || model->calls[i - 1].start_ns < model->calls[i].start_ns);
		assert_int_equal(model->gpu[model->calls[i].first_gpu].corr, model->calls[i].corr);
	}
	assert_in_range(model->call_count, CALLS + CALLS / 3 - 1, CALLS + CALLS / 3 + 1);
	model_free(model);
}

static void calls_that_are_reported_late_come_where_they_belong(void **state)
{
	check_late(1);
	check_late(40);
	check_late(60);
	check_late(200);
}

static void threads_and_processes_count_their_calls(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, PID, 11, 300, 0, 1);
	log_launch(&log, PID, 12, 100, 0, 2);
	log_launch(&log, PID, 11, 200, 0, 3);
	log_batch(&log, PID, 12, 900);
	add_kernel(&log, 1, 400, 410);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->thread_count, 2);
	assert_int_equal(model->threads[0].tid, 11);
	assert_int_equal(model->threads[0].calls, 2);
	assert_int_equal(model->threads[1].calls, 1);
	assert_int_equal(model->processes[0].calls, 3);
	assert_int_equal(model->processes[0].gpu_ops, 1);
	assert_int_equal(model->processes[0].first_call_ns, 100);
	assert_int_equal(model->processes[0].last_call_ns, 300);
	model_free(model);
}

static void operations_carry_what_cupti_said(void **state)
{
	struct log_builder log;
	struct model *model;
	char buffer[64];

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 900);
	log_agent_name(&log, 3, "_ZN2at6native4gemmEPfi");
	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 10,
							 .end_wall_ns = 20,
							 .name = 3,
							 .device = 1,
							 .context = 2,
							 .stream = 7,
							 .graph = 9,
							 .graph_node = 1ull << 40,
							 .grid = {1, 2, 3},
							 .block = {4, 5, 6},
							 .static_shared_bytes = 100,
							 .dynamic_shared_bytes = 200,
							 .registers = 64});
	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 20, .end_wall_ns = 30, .name = 4});
	log_agent_memcpy(&log,
			 (struct gpt_agent_memcpy){
				 .start_wall_ns = 30, .end_wall_ns = 40, .bytes = 4096, .kind = 1, .from = 1, .to = 3});
	log_agent_memset(&log,
			 (struct gpt_agent_memset){.start_wall_ns = 40, .end_wall_ns = 50, .bytes = 16, .memory = 3});
	log_agent_memcpy(&log, (struct gpt_agent_memcpy){
				       .start_wall_ns = 50, .end_wall_ns = 60, .kind = 200, .from = 99, .to = 8});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_string_equal(gpu_name(model, &model->gpu[0], buffer, sizeof(buffer)), "at::native::gemm(float*, int)");
	assert_int_equal(model->gpu[0].graph_node, 1ull << 40);
	assert_int_equal(model->gpu[0].grid[1], 2);
	assert_int_equal(model->gpu[0].block[2], 6);
	assert_int_equal(model->gpu[0].registers, 64);
	assert_int_equal(model->gpu[0].stream, 7);
	assert_string_equal(gpu_name(model, &model->gpu[1], buffer, sizeof(buffer)), "unknown kernel");
	assert_string_equal(gpu_name(model, &model->gpu[2], buffer, sizeof(buffer)),
			    "Memcpy HtoD (Pageable -> Device)");
	assert_int_equal(model->gpu[2].bytes, 4096);
	assert_string_equal(gpu_name(model, &model->gpu[3], buffer, sizeof(buffer)), "Memset (Device)");
	assert_string_equal(gpu_name(model, &model->gpu[4], buffer, sizeof(buffer)),
			    "Memcpy Unknown (Unknown -> Unknown)");
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_meets_its_kernel_by_correlation_id),
		cmocka_unit_test(one_graph_launch_has_all_its_records_in_order_of_time),
		cmocka_unit_test(gpu_records_and_returns_may_come_before_their_call),
		cmocka_unit_test(a_gpu_record_without_a_call_stays_alone),
		cmocka_unit_test(equal_correlation_ids_of_two_processes_are_not_mixed),
		cmocka_unit_test(a_process_that_died_keeps_its_late_records),
		cmocka_unit_test(the_second_call_of_one_correlation_id_is_the_same_call),
		cmocka_unit_test(a_call_from_before_the_agent_is_not_the_one_that_the_agent_reports_later),
		cmocka_unit_test(a_call_in_which_the_agent_has_come_is_the_one_that_the_agent_reports),
		cmocka_unit_test(a_call_seen_by_symbol_and_agent_is_one_call_with_both_their_knowledge),
		cmocka_unit_test(a_nested_call_whose_symbol_record_was_lost_is_a_call_of_its_own),
		cmocka_unit_test(the_return_of_the_same_call_wins_over_that_of_the_call_inside),
		cmocka_unit_test(a_return_before_its_call_in_time_is_not_believed),
		cmocka_unit_test(calls_are_in_order_of_time_and_keep_their_partners),
		cmocka_unit_test(calls_that_are_reported_late_come_where_they_belong),
		cmocka_unit_test(threads_and_processes_count_their_calls),
		cmocka_unit_test(operations_carry_what_cupti_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
