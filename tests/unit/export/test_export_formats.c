/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Chrome trace and folded stacks of the sample run and of models bent into awkward shapes.  tests/e2e/consumers
 * checks the files as a whole; each test here checks one behaviour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "export/chrome/chrome.h"
#include "export/folded/folded.h"
#include "export/file/sink.h"
#include "sample_model.h"
#include "whole_trace.h"
#include "log_model.h"

/* One file as a string, which the caller frees. */
static char *export_file(const struct model *model, export_write_fn *write_format, int process, bool by_launches)
{
	const struct export_options options = {.process = process, .by_launches = by_launches};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(write_format(&sink, WHOLE_TRACE(model), &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	assert_int_equal(sink_close(&sink), 0);
	return text;
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text ? text : "");
		fail_msg("no '%s' in the text above", part);
	}
}

/* ---- Chrome ------------------------------------------------------------------------------------------------ */

static void every_call_and_operation_has_one_row(void **state)
{
	struct model *model = sample_model(1, 3);
	char *text = export_file(model, chrome_write, -1, false);

	assert_int_equal(count_of(text, "\"cat\":\"cuda_runtime\""), 15);
	assert_int_equal(count_of(text, "\"cat\":\"cuda_driver\""), 3);
	assert_int_equal(count_of(text, "\"cat\":\"kernel\""), 15);
	assert_int_equal(count_of(text, "\"cat\":\"gpu_memcpy\""), 3);
	assert_int_equal(count_of(text, "\"cat\":\"gpu_memset\""), 3);
	assert_int_equal(count_of(text, "\"cat\":\"overhead\""), 3);
	assert_int_equal(count_of(text, "\"ph\":\"s\""), 21);
	assert_int_equal(count_of(text, "\"ph\":\"f\""), 21);
	assert_int_equal(count_of(text, "\"name\":\"ProfilerStep#0\""), 1);
	free(text);
	model_free(model);
}

static void times_count_from_the_start_of_the_trace(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text = export_file(model, chrome_write, -1, false);

	assert_has(text, "\"baseTimeNanoseconds\": 1700000001000000000,");
	assert_has(text, "\"name\":\"cudaLaunchKernel\",\"pid\":41230,\"tid\":41230,\"ts\":1000.000,\"dur\":4.000,");
	assert_has(text, "\"name\":\"Memset (Device)\",\"pid\":0,\"tid\":7,\"ts\":1180.000,\"dur\":5.000,");
	free(text);
	model_free(model);
}

static void a_kernel_row_says_how_full_the_gpu_was(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text = export_file(model, chrome_write, -1, false);

	/* 264 blocks of 8 warps on 132 multiprocessors of 2048 threads: 2 on each, of at most 4 (by registers). */
	assert_has(text, "\"blocks per SM\":2.0,\"warps per SM\":16.0,\"grid\":[264,1,1],\"block\":[256,1,1],"
			 "\"est. achieved occupancy %\":25,\"priority\":0,");
	free(text);
	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].grid[0] = 132 * 100;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"blocks per SM\":100.0,\"warps per SM\":800.0,\"grid\":[13200,1,1],\"block\":[256,1,1],"
			 "\"est. achieved occupancy %\":50,");
	free(text);
	model->devices[0].multiprocessors = 0;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"blocks per SM\":0.0,\"warps per SM\":0.0,");
	assert_has(text, "\"est. achieved occupancy %\":0,");
	free(text);
	model_free(model);
}

static void the_head_names_every_cause_of_loss(void **state)
{
	struct model_loss losses[MODEL_LOSSES];
	struct model *model = sample_model(1, 1);
	uint64_t count = 100;
	char *text;

#define COUNTER(counter, name, kind, words) model_source(model)->receipt.counters[GPT_COUNTER_##counter] = ++count;
#define MEMBER(member, name, kind, words) model_source(model)->receipt.member = ++count;
	GPT_COUNTER_LOSSES(COUNTER);
	GPT_AGENT_LOSSES(MEMBER);
	GPT_RECORD_LOSSES(MEMBER);
#undef MEMBER
#undef COUNTER
	model_losses(&model_source(model)->receipt, losses);
	text = export_file(model, chrome_write, -1, false);
	for (size_t i = 0; i < MODEL_LOSSES; i++) {
		char member[80];

		snprintf(member, sizeof(member), "\"%s\": %zu,", losses[i].name, 101 + i);
		assert_has(text, member);
	}
	free(text);
	model_free(model);
}

static void a_wait_is_drawn_beside_the_stream_as_kineto_does(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text = export_file(model, chrome_write, -1, false);

	assert_has(text, "\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":1000007,\"ts\":1041.000,"
			 "\"dur\":598.000,\"args\":{\"cuda_sync_kind\":\"Stream Sync\",\"stream\":7,\"correlation\":5,"
			 "\"device\":0,\"context\":1}}");
	assert_has(text, "\"name\":\"stream 7 (sync)\"");
	free(text);
	model->syncs[0].kind = GPT_AGENT_SYNC_EVENT;
	model->syncs[0].stream = NONE;
	model->syncs[0].event = 3;
	model->syncs[0].recorded_by = 0;
	model->syncs[0].recorded_on = 7;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"args\":{\"cuda_sync_kind\":\"Event Sync\",\"wait_on_stream\":7,"
			 "\"wait_on_cuda_event_record_corr_id\":1,\"wait_on_cuda_event_id\":3,\"stream\":-1,");
	free(text);
	model->syncs[0].device = NONE;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "cuda_sync"), 0);
	assert_has(text, "\"file_syncs_not_plotted\": 1,");
	free(text);
	model_free(model);
}

static void memory_comes_and_goes_as_kineto_says_it(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text = export_file(model, chrome_write, -1, false);

	assert_int_equal(count_of(text, "\"name\":\"[memory]\""), 3);
	assert_has(text, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":41230,"
			 "\"tid\":41230,\"ts\":1001.000,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":7340033,"
			 "\"Bytes\":1000000,\"Total Allocated\":1000000,\"Total "
			 "Reserved\":1000000,\"kind\":\"device\",\"of call\":1}}");
	assert_has(text, "\"Bytes\":-1000000,\"Total Allocated\":1000000,");
	free(text);
	model->memories[2].other = NONE; /* it was allocated before the trace */
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"Bytes\":-1000000,\"Total Allocated\":2000000,");
	free(text);
	model_free(model);
}

static void correlations_of_two_processes_do_not_meet(void **state)
{
	struct model *model = sample_model(2, 1);
	char *text = export_file(model, chrome_write, -1, false);

	for (unsigned correlation = 1; correlation <= 12; correlation++) {
		char api[64];
		unsigned rows = 0;

		snprintf(api, sizeof(api), "\"correlation\":%u,\"cupti correlation\":", correlation);
		for (const char *at = text; (at = strstr(at, "\"cbid\":")); at++)
			rows += !strncmp(strchr(at, ',') + 1, api, strlen(api));
		assert_int_equal(rows, 1);
	}
	assert_has(text, "\"name\":\"stream 7 of python3 41330\"");
	free(text);
	model_free(model);
}

static void one_process_of_two_can_be_exported(void **state)
{
	struct model *model = sample_model(2, 2);
	char *text = export_file(model, chrome_write, 1, false);

	assert_int_equal(count_of(text, "\"pid\":41230"), 0);
	assert_int_equal(count_of(text, "\"cat\":\"kernel\""), 10);
	assert_int_equal(count_of(text, "cupti correlation"), 0);
	free(text);
	text = export_file(model, folded_write, 0, true);
	assert_has(text, "cudaLaunchKernel;void gemm<128>(float const*, float*) 2\n");
	free(text);
	model_free(model);
}

static void calls_without_correlation_get_a_number_of_their_own(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].corr == 6)
			model->calls[i].corr = 0;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "\"cbid\":307,\"correlation\":6"), 0);
	for (unsigned i = 1; i <= 5; i++) {
		char row[64];

		snprintf(row, sizeof(row), ",\"correlation\":%u", i);
		assert_has(text, row);
	}
	free(text);
	model_free(model);
}

static void a_call_whose_end_was_not_seen_has_no_length(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->calls[0].end_ns = 0;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"name\":\"cudaLaunchKernel\",\"pid\":41230,\"tid\":41230,\"ts\":1000.000,\"dur\":0.000,"
			 "\"args\":{\"External id\":0,\"cbid\":211,\"correlation\":1,\"end\":\"not seen\"");
	free(text);
	model_free(model);
}

static void a_call_never_reaches_into_the_next_of_its_thread(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->calls[0].end_ns = model->calls[2].start_ns;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"name\":\"cudaLaunchKernel\",\"pid\":41230,\"tid\":41230,\"ts\":1000.000,\"dur\":10.000,");
	free(text);
	model_free(model);
}

static void a_failed_call_says_so(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->calls[0].result = 98;
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"correlation\":1,\"result\":98,");
	free(text);
	model_free(model);
}

static void operations_without_times_are_counted_not_plotted(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->gpu[0].start_ns = model->gpu[0].end_ns = 0;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "\"cat\":\"kernel\""), 4);
	assert_int_equal(count_of(text, "\"ph\":\"s\""), 6);
	assert_has(text, "\"file_untimed\": 1,");
	free(text);
	model_free(model);
}

static void an_operation_without_launch_says_so_and_has_no_arrow(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->calls[model->gpu[0].call].first_gpu = NONE;
	model->calls[model->gpu[0].call].gpu_count = 0;
	model->gpu[0].call = NONE;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "\"launch\":\"not seen\""), 1);
	assert_int_equal(count_of(text, "\"ph\":\"s\""), 6);
	assert_int_equal(count_of(text, "\"ph\":\"f\""), 6);
	assert_has(text, "\"file_launch_not_seen\": 1,");
	free(text);
	model_free(model);
}

static void more_overlap_than_a_gpu_can_have_is_counted(void **state)
{
	struct model *model = sample_model(1, 100);
	char *text;

	for (uint32_t i = 0; i < 300; i++) {
		model->gpu[i].start_ns = model->gpu[0].start_ns;
		model->gpu[i].end_ns = model->gpu[0].start_ns + 1000000000;
	}
	text = export_file(model, chrome_write, -1, false);
	assert_false(strstr(text, "\"file_not_plotted\": 0,"));
	assert_has(text, "(overlap 255)");
	assert_false(strstr(text, "(overlap 256)"));
	free(text);
	model_free(model);
}

static void names_from_a_target_cannot_break_the_file(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->processes[0].name = "a\"},\n{";
	model->codes[0].name = "f\"\\\x02;g";
	model->strings[model->gpu[0].name] = "\xff\"kernel\"";
	text = export_file(model, chrome_write, -1, false);
	assert_has(text, "\"name\":\"a\\\"},\\u000a{\"");
	assert_has(text, "f\\\"\\\\\\u0002_g");
	assert_has(text, "\"name\":\"\xef\xbf\xbd\\\"kernel\\\"\"");
	free(text);
	model_free(model);
}

static void a_python_function_lasts_while_its_caller_stays_on_the_line(void **state)
{
	struct model *model = sample_model(1, 3);
	char *text = export_file(model, chrome_write, -1, false);

	/* main and train_step are on the stack of every call; train_step changes its line, so forward is three runs. */
	assert_int_equal(count_of(text, "\"name\":\"/home/user/train.py(90): main\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"/home/user/train.py(20): train_step\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"/home/user/model.py(40): Block.forward\""), 3);
	assert_has(text, "\"name\":\"/home/user/train.py(90): main\",\"pid\":41230,\"tid\":41230,\"ts\":1000.000,"
			 "\"dur\":2640.000,\"args\":{\"Python id\":1,\"from\":\"snapshots\"}}");
	free(text);
	model_free(model);
}

static void a_stack_without_its_middle_says_where_and_how_many_frames_are_missing(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_stack *stack = &model->stacks[model->calls[0].stack];
	char *text;

	stack->gap = 1;
	stack->missing = 872;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "\"Call stack cut\":true"), 1);
	assert_int_equal(count_of(text, "model.py(42): Block.forward;[872 frames left out];"), 1);
	assert_int_equal(count_of(text, "\"name\":\"[frames left out]\""), 1);
	free(text);
	text = export_file(model, folded_write, -1, false);
	assert_has(text, "python3;main (train.py:97);train_step (train.py:23);[cut];Block.forward (model.py:42);"
			 "cudaLaunchKernel;void gemm<128>(float const*, float*) 100000\n");
	free(text);
	model_free(model);
}

static void a_stack_without_its_outer_end_says_so(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_stack *stack = &model->stacks[model->calls[0].stack];
	char *text;

	stack->gap = stack->depth;
	stack->missing = MODEL_MISSING_UNKNOWN;
	text = export_file(model, chrome_write, -1, false);
	assert_int_equal(count_of(text, "\"Call stack cut\":true"), 1);
	assert_int_equal(count_of(text, "main;[frames left out]\""), 1);
	assert_int_equal(count_of(text, "\"name\":\"[frames left out]\""), 1);
	free(text);
	text = export_file(model, folded_write, -1, false);
	assert_has(text, "python3;[cut];main (train.py:97);train_step (train.py:23);Block.forward (model.py:42);"
			 "cudaLaunchKernel;void gemm<128>(float const*, float*) 100000\n");
	free(text);
	model_free(model);
}

static void an_empty_trace_is_still_a_file(void **state)
{
	struct model_source source = {.version = "", .host = "", .kernel = "", .target = ""};
	struct model model = {.sources = &source, .source_count = 1};
	char *text = export_file(&model, chrome_write, -1, false);

	assert_has(text, "\"traceEvents\": [\n{\"ph\":\"M\"");
	assert_string_equal(text + strlen(text) - 4, "\n]}\n");
	free(text);
	text = export_file(&model, folded_write, -1, false);
	assert_string_equal(text, "");
	free(text);
}

/* ---- folded ------------------------------------------------------------------------------------------------ */

static void folded_lines_sum_gpu_time_by_stack(void **state)
{
	struct model *model = sample_model(1, 2);
	char *text = export_file(model, folded_write, -1, false);

	assert_string_equal(
		text,
		"python3;main (train.py:97);train_step (train.py:23);Block.forward (model.py:42);cudaLaunchKernel;"
		"void gemm<128>(float const*, float*) 200000\n"
		"python3;main (train.py:97);train_step (train.py:24);cudaMemcpyAsync;"
		"Memcpy HtoD (Pageable -> Device) 100000\n"
		"python3;main (train.py:97);train_step (train.py:25);cudaMemsetAsync;Memset (Device) 10000\n"
		"python3;main (train.py:97);train_step (train.py:26);cudaGraphLaunch;triton_poi_fused_relu_0 120000\n"
		"python3;main (train.py:97);train_step (train.py:26);cudaGraphLaunch;"
		"void gemm<128>(float const*, float*) 60000\n"
		"python3;thread pt_autograd_0 (no Python);cuLaunchKernel;void gemm<128>(float const*, float*) "
		"120000\n");
	free(text);
	model_free(model);
}

static void a_stack_that_could_not_be_read_is_not_said_to_be_none(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].stack == NONE)
			model->calls[i].stack_state = GPT_STACK_AMBIGUOUS;
	text = export_file(model, folded_write, -1, false);
	assert_has(text, "python3;thread pt_autograd_0 (stack not known);cuLaunchKernel;");
	free(text);
	model_free(model);
}

static void folded_lines_can_count_launches(void **state)
{
	struct model *model = sample_model(1, 2);
	char *text = export_file(model, folded_write, -1, true);

	assert_string_equal(
		text,
		"python3;main (train.py:97);train_step (train.py:23);Block.forward (model.py:42);cudaLaunchKernel;"
		"void gemm<128>(float const*, float*) 2\n"
		"python3;main (train.py:97);train_step (train.py:24);cudaMemcpyAsync;"
		"Memcpy HtoD (Pageable -> Device) 2\n"
		"python3;main (train.py:97);train_step (train.py:25);cudaMemsetAsync;Memset (Device) 2\n"
		"python3;main (train.py:97);train_step (train.py:26);cudaGraphLaunch 2\n"
		"python3;thread pt_autograd_0 (no Python);cuLaunchKernel;void gemm<128>(float const*, float*) 2\n");
	free(text);
	model_free(model);
}

static void without_gpu_records_launches_are_counted(void **state)
{
	struct model *model = sample_model(1, 2);
	uint32_t gpu_count = model->gpu_count;
	char *text;

	for (uint32_t i = 0; i < model->call_count; i++) {
		model->calls[i].first_gpu = NONE;
		model->calls[i].gpu_count = 0;
	}
	model->gpu_count = 0;
	text = export_file(model, folded_write, -1, false);
	assert_has(text, "Block.forward (model.py:42);cudaLaunchKernel 2\n");
	free(text);
	model->gpu_count = gpu_count;
	model_free(model);
}

static void two_processes_of_one_name_share_lines(void **state)
{
	struct model *model = sample_model(2, 2);
	char *text = export_file(model, folded_write, -1, false);

	assert_int_equal(count_of(text, "\n"), 6);
	assert_has(text, "(no Python);cuLaunchKernel;void gemm<128>(float const*, float*) 240000\n");
	free(text);
	model_free(model);
}

static void names_cannot_break_a_folded_line(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].kind == MODEL_KERNEL)
			model->strings[model->gpu[i].name] = "a;b\nc 100";
	for (uint32_t i = 0; i < model->code_count; i++)
		model->codes[i].name = "";
	text = export_file(model, folded_write, -1, false);
	assert_has(text, ";a_b_c_100 ");
	assert_has(text, "; (train.py:97);");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		assert_true(!strncmp(line, "python3;", 8));
	free(text);
	model_free(model);
}

static void operations_without_launch_have_a_root_of_their_own(void **state)
{
	struct model *model = sample_model(1, 1);
	char *text;

	model->gpu[0].call = NONE;
	text = export_file(model, folded_write, -1, false);
	assert_has(text, "python3;[launch not seen];void gemm<128>(float const*, float*) 100000\n");
	free(text);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_and_operation_has_one_row),
		cmocka_unit_test(times_count_from_the_start_of_the_trace),
		cmocka_unit_test(a_kernel_row_says_how_full_the_gpu_was),
		cmocka_unit_test(the_head_names_every_cause_of_loss),
		cmocka_unit_test(a_wait_is_drawn_beside_the_stream_as_kineto_does),
		cmocka_unit_test(memory_comes_and_goes_as_kineto_says_it),
		cmocka_unit_test(correlations_of_two_processes_do_not_meet),
		cmocka_unit_test(one_process_of_two_can_be_exported),
		cmocka_unit_test(calls_without_correlation_get_a_number_of_their_own),
		cmocka_unit_test(a_call_whose_end_was_not_seen_has_no_length),
		cmocka_unit_test(a_call_never_reaches_into_the_next_of_its_thread),
		cmocka_unit_test(a_failed_call_says_so),
		cmocka_unit_test(operations_without_times_are_counted_not_plotted),
		cmocka_unit_test(an_operation_without_launch_says_so_and_has_no_arrow),
		cmocka_unit_test(more_overlap_than_a_gpu_can_have_is_counted),
		cmocka_unit_test(names_from_a_target_cannot_break_the_file),
		cmocka_unit_test(a_python_function_lasts_while_its_caller_stays_on_the_line),
		cmocka_unit_test(a_stack_without_its_middle_says_where_and_how_many_frames_are_missing),
		cmocka_unit_test(a_stack_without_its_outer_end_says_so),
		cmocka_unit_test(an_empty_trace_is_still_a_file),
		cmocka_unit_test(folded_lines_sum_gpu_time_by_stack),
		cmocka_unit_test(a_stack_that_could_not_be_read_is_not_said_to_be_none),
		cmocka_unit_test(folded_lines_can_count_launches),
		cmocka_unit_test(without_gpu_records_launches_are_counted),
		cmocka_unit_test(two_processes_of_one_name_share_lines),
		cmocka_unit_test(names_cannot_break_a_folded_line),
		cmocka_unit_test(operations_without_launch_have_a_root_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
