/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `gputrace why` says of calls rests on records of these calls: results, first launches, copies. */
#include "analyzed.h"
#include "report/report.h"
#include "report/why/why.h"

#define US 1000ull
#define MS 1000000ull

#define CUDA_MALLOC GPT_API(GPT_DOMAIN_RUNTIME, 20)
#define CUDA_EVENT_QUERY GPT_API(GPT_DOMAIN_RUNTIME, 136)
#define CUDA_MEMCPY GPT_API(GPT_DOMAIN_RUNTIME, 41)

/* The process's program, of which all is described anew after an exec. */
static void describe_program(struct log_builder *log, uint64_t time_ns, uint64_t started_ns)
{
	log_process(log, PID, 1, time_ns, started_ns, 0x30c, "python3", "", "", "");
	log_function(log, PID, 0xc0de, "train", "/src/train.py", 30);
	log_stack(log, PID, 1, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 26}});
	log_batch(log, PID, TID, time_ns + 400);
	log_agent_ready(log, "kernels,cuda,sync");
	log_agent_name(log, 1, "_Z4gemmPf");
}

static void begin_log(struct log_builder *log, uint64_t started_ns)
{
	log_begin(log, 1000, 0);
	describe_program(log, 1100, started_ns);
}

static void add_call(struct log_builder *log, uint16_t api, uint32_t corr, uint64_t start_ns, uint64_t end_ns,
		     int32_t result)
{
	log_call(log, (struct gpt_call){.time_ns = start_ns,
					.pid = PID,
					.tid = TID,
					.stack_id = 1,
					.corr = corr,
					.api = api,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_OK});
	log_batch(log, PID, TID, end_ns);
	log_agent_api(log, (struct gpt_agent_api){.start_ns = start_ns,
						  .end_ns = end_ns,
						  .corr = corr,
						  .tid = TID,
						  .api = api,
						  .result = result});
}

/* A launch that takes that long, and a kernel that begins when it has returned. */
static void add_run(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t launch_ns)
{
	add_call(log, CUDA_LAUNCH, corr, start_ns - launch_ns, start_ns, 0);
	log_batch(log, PID, TID, start_ns + MS);
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){
				 .start_wall_ns = start_ns, .end_wall_ns = start_ns + MS, .corr = corr, .name = 1});
}

static void add_copies(struct log_builder *log, uint32_t first_corr, uint8_t kind, uint64_t ns)
{
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t start_ns = 12 * MS + i * MS;

		add_call(log, CUDA_MEMCPY, first_corr + i, start_ns - 100 * US, start_ns + 900 * US, 0);
		log_batch(log, PID, TID, start_ns + MS);
		log_agent_memcpy(log, (struct gpt_agent_memcpy){.start_wall_ns = start_ns,
								.end_wall_ns = start_ns + ns,
								.bytes = 8,
								.corr = first_corr + i,
								.kind = kind,
								.from = kind == 1 ? 1 : 3,
								.to = kind == 1 ? 3 : 1});
	}
}

static char *page_of(struct log_builder *log, int (*write)(FILE *, struct trace *, const struct report_options *))
{
	struct model *model;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	log_end(log, 10000 * MS);
	model = model_of(log);
	assert_int_equal(write(out, WHOLE_TRACE(model), &(struct report_options){.width = 200, .rows = 20}), 0);
	fclose(out);
	model_free(model);
	return text;
}

static void assert_has(char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("'%s' is not in:\n%s", words, text);
	free(text);
}

static void assert_lacks(char *text, const char *words)
{
	if (strstr(text, words))
		fail_msg("'%s' is in:\n%s", words, text);
	free(text);
}

static void log_with_results(struct log_builder *log, uint16_t api, int32_t result)
{
	begin_log(log, 1050);
	add_run(log, 1, 10 * MS, 5 * US);
	for (uint32_t i = 0; i < 14; i++)
		add_call(log, api, 2 + i, 12 * MS + i * MS, 12 * MS + i * MS + 900 * US, result);
	add_run(log, 30, 30 * MS, 5 * US);
}

static void only_what_says_that_there_was_no_memory_is_a_lack_of_memory(void **state)
{
	static const int32_t others[] = {600, 704, 712, 1};
	struct log_builder log = {0};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		log_with_results(&log, CUDA_EVENT_QUERY, others[i]);
		assert_lacks(page_of(&log, report_write_why), "no memory");
		log_with_results(&log, CUDA_MALLOC, others[i]);
		assert_lacks(page_of(&log, report_write_why), "no memory");
	}
	log_with_results(&log, CUDA_EVENT_QUERY, 2);
	assert_lacks(page_of(&log, report_write_why), "no memory");
	log_with_results(&log, CUDA_MALLOC, 2);
	assert_has(page_of(&log, report_write_why), "14 of the calls failed");
}

static void a_query_of_an_event_that_is_not_ready_did_not_fail(void **state)
{
	struct log_builder log;

	log_with_results(&log, CUDA_EVENT_QUERY, 600);
	assert_lacks(page_of(&log, report_write), "Failed");
	log_with_results(&log, CUDA_EVENT_QUERY, 704);
	assert_has(page_of(&log, report_write), "Failed");
}

static void execute(struct log_builder *log, uint64_t time_ns)
{
	log_process_event(log, GPT_EXEC, PID, 0, time_ns, "python3");
	describe_program(log, time_ns + 100, 500);
}

/* executed_ns: 0, or when the process executes the program, before or after its first launch at 10 ms. */
static void log_with_a_program(struct log_builder *log, uint64_t started_ns, uint64_t executed_ns, bool first)
{
	begin_log(log, started_ns);
	if (executed_ns && executed_ns < 10 * MS)
		execute(log, executed_ns);
	log_agent_name(log, 2, "_Z7softmaxPf");
	log_batch(log, PID, TID, 9 * MS);
	log_agent_name(log, 3, "_Z4reluPf");
	add_run(log, 1, 10 * MS, 5 * US);
	if (executed_ns > 10 * MS)
		execute(log, executed_ns);
	add_call(log, CUDA_LAUNCH, 2, 20 * MS, 720 * MS, 0);
	log_batch(log, PID, TID, 800 * MS);
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){
				 .start_wall_ns = 720 * MS, .end_wall_ns = 721 * MS, .corr = 2, .name = first ? 2 : 1});
	add_run(log, 3, 722 * MS, 5 * US);
}

static void log_with_a_long_launch(struct log_builder *log, uint64_t started_ns, bool first)
{
	log_with_a_program(log, started_ns, 0, first);
}

static void a_long_first_launch_of_a_kernel_loads_its_code(void **state)
{
	struct log_builder log;

	log_with_a_long_launch(&log, 1050, true);
	assert_has(page_of(&log, report_write_why),
		   "700.0 ms in the first launch of softmax, which loads its code (once) while the GPU had nothing to "
		   "do.");
	log_with_a_long_launch(&log, 1050, true);
	assert_has(page_of(&log, report_write_why), "Warm up before the loop; CUDA_MODULE_LOADING=EAGER");
	log_with_a_long_launch(&log, 1050, true);
	assert_has(page_of(&log, report_write), "in the first launch of softmax(float*)");
}

/* Nor is it known whether a launch is the first one in a process that began before the trace, or at an unknown time. */
static void a_long_launch_of_a_kernel_that_ran_before_does_not_load_code(void **state)
{
	struct log_builder log;

	log_with_a_long_launch(&log, 1050, false);
	assert_lacks(page_of(&log, report_write_why), "first launch");
	log_with_a_long_launch(&log, 500, true);
	assert_lacks(page_of(&log, report_write_why), "first launch");
	log_with_a_long_launch(&log, 0, true);
	assert_lacks(page_of(&log, report_write_why), "first launch");
	log_with_a_long_launch(&log, 500, true);
	assert_lacks(page_of(&log, report_write_why), "keep what they give");
	log_with_a_long_launch(&log, 500, true);
	assert_has(page_of(&log, report_write_why), "waits for room in its stream");
}

/* As a COMMAND: its process is there before the trace. */
static void a_program_that_is_executed_in_the_trace_has_first_launches(void **state)
{
	struct log_builder log;

	log_with_a_program(&log, 500, 2000, true);
	assert_has(page_of(&log, report_write_why), "700.0 ms in the first launch of softmax");
	log_with_a_program(&log, 500, 2000, false);
	assert_lacks(page_of(&log, report_write_why), "first launch");
	log_with_a_program(&log, 500, 600, true); /* before the trace, as a log's description of a process repeats it */
	assert_lacks(page_of(&log, report_write_why), "first launch");
}

static void what_ran_before_an_exec_is_loaded_again_after_it(void **state)
{
	struct log_builder log;

	log_with_a_program(&log, 1050, 15 * MS, false);
	assert_has(page_of(&log, report_write_why), "700.0 ms in the first launch of gemm");
}

static void copies_that_took_no_time_are_counted(void **state)
{
	struct log_builder log;

	begin_log(&log, 1050);
	add_run(&log, 1, 10 * MS, 5 * US);
	add_copies(&log, 2, 1, 0);
	add_run(&log, 30, 40 * MS, 5 * US);
	assert_has(
		page_of(&log, report_write_why),
		"20 Memcpy HtoD (Pageable -> Device) of 8 B each: the program stood in 20 of these calls for 20.0 ms.");
}

static void only_copies_to_the_gpu_are_advised_the_data_loader_s_pinned_memory(void **state)
{
	struct log_builder log;

	begin_log(&log, 1050);
	add_run(&log, 1, 10 * MS, 5 * US);
	add_copies(&log, 2, 1, 800 * US);
	add_run(&log, 30, 40 * MS, 5 * US);
	assert_has(page_of(&log, report_write_why), "pin_memory=True in the DataLoader");
	begin_log(&log, 1050);
	add_run(&log, 1, 10 * MS, 5 * US);
	add_copies(&log, 2, 2, 800 * US);
	add_run(&log, 30, 40 * MS, 5 * US);
	assert_lacks(page_of(&log, report_write_why), "in the DataLoader");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_says_that_there_was_no_memory_is_a_lack_of_memory),
		cmocka_unit_test(a_query_of_an_event_that_is_not_ready_did_not_fail),
		cmocka_unit_test(a_long_first_launch_of_a_kernel_loads_its_code),
		cmocka_unit_test(a_long_launch_of_a_kernel_that_ran_before_does_not_load_code),
		cmocka_unit_test(a_program_that_is_executed_in_the_trace_has_first_launches),
		cmocka_unit_test(what_ran_before_an_exec_is_loaded_again_after_it),
		cmocka_unit_test(copies_that_took_no_time_are_counted),
		cmocka_unit_test(only_copies_to_the_gpu_are_advised_the_data_loader_s_pinned_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
