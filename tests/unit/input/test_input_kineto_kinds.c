/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* torch.profiler traces of older PyTorch and of other accelerators, and files that are not a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/array.h"
#include "database_builder.h"

#define EVENT(category, name, tid, ts, dur, args)                                                                      \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":70,\"tid\":" tid ",\"ts\":" ts           \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define CORR(number) "\"correlation\":" number
#define WORK(category, name, ts, dur, args)                                                                            \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":" ts       \
	",\"dur\":" dur ",\"args\":{\"device\":0,\"context\":1,\"stream\":7," args "}}"
#define LAUNCH EVENT("cuda_runtime", "cudaLaunchKernel", "71", "12", "1", CORR("5"))
#define KERNEL WORK("kernel", "k", "20", "9", CORR("5"))

static struct trace *open_text(const char *text)
{
	return open_file(file_of_bytes(text, strlen(text)), &in_one);
}

static void assert_refused(const char *text, const char *expected)
{
	int fd = file_of_bytes(text, strlen(text));
	struct trace *trace;
	char *why;

	assert_int_equal(foreign_trace_open(fd, NULL, &trace, &why), -EPROTO);
	assert_non_null(why);
	if (!strstr(why, expected))
		fail_msg("not in it: %s\n%s", expected, why);
	free(why);
	close(fd);
}

static void a_thread_without_a_number_is_one(void **state)
{
	static const char *const tids[] = {"-549452224", "0", "\"MainThread\"", "4294967295"};

	for (size_t i = 0; i < sizeof(tids) / sizeof(tids[0]); i++) {
		char *text =
			xasprintf("[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":70,"
				  "\"tid\":%s,\"ts\":12,\"dur\":1,\"args\":{\"correlation\":5}}," KERNEL "]",
				  tids[i]);
		struct trace *trace = open_text(text);
		const struct model *model = trace_first(trace);

		assert_null(model_check(model));
		assert_int_equal(model_source(model)->receipt.bad_records, 0);
		assert_int_equal(model_source(model)->receipt.launches_joined, 1);
		assert_int_equal(model->gpu[0].call, 0);
		two_pass_trace_close(trace);
		free(text);
	}
}

static void functions_of_a_thread_without_a_number_are_left_out_and_said(void **state)
{
	struct trace *trace = open_text(
		"[" LAUNCH "," KERNEL
		",{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"threading.py(1032): _bootstrap\",\"pid\":0,"
		"\"tid\":0,\"ts\":1,\"dur\":90,\"args\":{\"Python id\":1}},"
		"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"threading.py(1032): _bootstrap\",\"pid\":70,"
		"\"tid\":0,\"ts\":1,\"dur\":90,\"args\":{\"Python id\":2}}]");
	const struct model *model = trace_first(trace);

	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	assert_int_equal(model->calls[0].stack, NONE);
	assert_int_equal(model->note_count, 1);
	assert_non_null(strstr(model->notes[0], "left out (2)"));
	two_pass_trace_close(trace);
}

static void what_begins_at_0_is_there(void **state)
{
	struct trace *trace = open_text("{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [" EVENT(
		"cpu_op", "aten::add", "71", "0", "50",
		"") "," EVENT("cuda_runtime", "cudaLaunchKernel", "71", "0.000", "5",
			      CORR("5")) "," WORK("kernel", "k", "0", "9",
						  CORR("5")) ",{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\","
							     "\"cat\":\"cpu_instant_event\",\"pid\":70,\"tid\":71,"
							     "\"ts\":0,\"args\":{\"Addr\":7,\"Bytes\":8}}]}");
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	assert_int_equal(model_source(model)->receipt.gpu_ops_untimed, 0);
	assert_int_equal(model->gpu[0].end_ns - model->gpu[0].start_ns, 9000);
	assert_int_equal(model->ops[0].start_ns, model->start_ns);
	assert_int_equal(model_source(model)->wall_offset_ns + (int64_t)model->start_ns, 1700000000000000000);
	assert_int_equal(model->torch_memory_count, 1);
	two_pass_trace_close(trace);
}

/* The kinds had these names, and GPUs were described here, until April 2022. */
static void a_trace_of_pytorch_1_8_has_its_ops_calls_and_work(void **state)
{
	struct trace *trace = open_text(
		"{\"schemaVersion\": 1, \"computeProperties\": [{\"id\": 0, \"name\": \"Tesla V100\", \"major\": 7, "
		"\"minor\": 0, \"multiProcessorCount\": 80}], \"traceEvents\": [" EVENT("Operator", "ProfilerStep#3", "\"71\"", "5", "90", "") "," EVENT(
			"Operator", "aten::add",
			"\"71\"", "10", "20",
			"") "," EVENT("Runtime", "cudaLaunchKernel", "\"71\"", "12", "1",
				      "\"cbid\":211," CORR(
					      "5")) "," EVENT("Runtime", "cudaMemcpyAsync", "\"71\"", "14", "1",
							      "\"cbid\":41," CORR(
								      "6")) "," EVENT("Runtime", "cudaMemsetAsync",
										      "\"71\"", "16", "1",
										      "\"cbid\":51," CORR(
											      "7")) "," WORK("Kernel",
													     "k", "20",
													     "9",
													     CORR("5")) "," WORK("Memcpy",
																 "Memcpy HtoD (Pageable -> Device)",
																 "30",
																 "1",
																 "\"bytes\":640," CORR(
																	 "6")) "," WORK("Memset",
																			"Memset (Device)",
																			"40",
																			"1",
																			"\"bytes\":8," CORR(
																				"7")) ","
																				      "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":70,\"tid\":71,\"ts\":15,"
																				      "\"args\":{\"Device Type\":1,\"Device Id\":0,\"Bytes\":512}}]}");
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	assert_int_equal(model->op_count, 2);
	assert_int_equal(model->ops[0].scope, GPT_AGENT_OP_USER_SCOPE);
	assert_int_equal(model->call_count, 3);
	assert_int_equal(model_source(model)->receipt.gpu_ops_joined, 3);
	assert_int_equal(model->gpu[1].kind, MODEL_MEMCPY);
	assert_int_equal(model->gpu[2].kind, MODEL_MEMSET);
	assert_string_equal(model->devices[0].name, "Tesla V100");
	assert_int_equal(model->devices[0].multiprocessors, 80);
	assert_int_equal(model->devices[0].compute_major, 7);
	assert_int_equal(model->torch_memory_count, 0);
	assert_non_null(strstr(model->notes[0], "[memory] without an address"));
	two_pass_trace_close(trace);
}

static void calls_of_other_accelerators_launch_their_work_whatever_their_names(void **state)
{
	static const struct {
		const char *category, *name;
		enum gpt_api_class class;
	} calls[] = {
		{"cuda_runtime", "hipLaunchKernel", GPT_CLASS_LAUNCH},
		{"cuda_runtime", "hipExtModuleLaunchKernel", GPT_CLASS_LAUNCH},
		{"xpu_runtime", "urEnqueueKernelLaunch", GPT_CLASS_LAUNCH},
		{"mtia_runtime", "runFunction - job_prep_and_submit_for_execution", GPT_CLASS_LAUNCH},
		{"privateuse1_driver", "submit", GPT_CLASS_LAUNCH},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char *text = xasprintf(
			"[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":70,\"tid\":71,\"ts\":12,\"dur\":1,"
			"\"args\":{\"correlation\":5,\"cbid\":211}}," KERNEL "]",
			calls[i].category, calls[i].name);
		struct trace *trace = open_text(text);
		const struct model *model = trace_first(trace);

		assert_string_equal(api_name(model->calls[0].api), calls[i].name);
		assert_int_equal(model->calls[0].class, calls[i].class);
		assert_int_equal(model_source(model)->receipt.launches, 1);
		assert_int_equal(model_source(model)->receipt.launches_joined, 1);
		two_pass_trace_close(trace);
		free(text);
	}
}

static struct analyses analyze_text(const char *text, struct trace **trace)
{
	struct analyses all;

	*trace = open_text(text);
	assert_int_equal(analyze(&all, *trace, ANALYSES(ANALYZE_WAITS, ANALYZE_API_TIMES, ANALYZE_WHY), NULL), 0);
	return all;
}

static void a_copy_waits_that_returned_after_its_end_and_no_other(void **state)
{
	struct trace *trace;
	struct analyses all = analyze_text(
		"[" EVENT("cuda_runtime", "hipMemcpyWithStream", "71", "10", "490", CORR("1")) "," WORK(
			"gpu_memcpy", "Memcpy DtoH (Device -> Host)", "480", "10",
			"\"bytes\":4," CORR("1")) "," EVENT("cuda_runtime", "cudaMemcpyAsync", "71", "600", "20",
							    CORR("2")) "," WORK("gpu_memcpy",
										"Memcpy HtoD (Pinned -> Device)", "615",
										"50", "\"bytes\":4," CORR("2")) "]",
		&trace);

	assert_int_equal(all.waits.count, 1);
	assert_string_equal(api_name(all.waits.rows[0].api), "hipMemcpyWithStream");
	assert_int_equal(all.waits.ns, 490000);
	analyses_free(&all);
	two_pass_trace_close(trace);
}

static void a_call_that_gputrace_does_not_follow_has_its_time(void **state)
{
	struct trace *trace;
	struct analyses all = analyze_text(
		"[" LAUNCH "," KERNEL
		"," EVENT("cuda_runtime", "cudaDeviceGetStreamPriorityRange", "71", "50", "900",
			  CORR("6")) "," EVENT("cuda_runtime", "cudaLaunchKernel", "71", "960", "1",
					       CORR("7")) "," WORK("kernel", "k", "970", "9", CORR("7")) "]",
		&trace);

	assert_string_equal(api_name((uint16_t)all.api_times.rows[0].part[0]), "cudaDeviceGetStreamPriorityRange");
	assert_int_equal(all.api_times.rows[0].ns, 900000);
	assert_int_equal(all.why.losses[0].cause, WHY_CALL);
	assert_int_equal(all.why.losses[0].ns, 900000);
	analyses_free(&all);
	two_pass_trace_close(trace);
}

static void no_cause_is_made_up_for_work_whose_launch_is_not_in_the_file(void **state)
{
	struct trace *trace;
	struct analyses all = analyze_text(
		"[" EVENT("cpu_op", "aten::add", "71", "1", "5", "") "," WORK(
			"kernel", "k", "20", "9", CORR("5")) "," WORK("kernel", "k", "500", "9", CORR("6")) "]",
		&trace);

	assert_int_equal(all.why.sums[WHY_UNSEEN].ns, 471000);
	assert_int_equal(all.why.sums[WHY_GPU].ns, 0);
	analyses_free(&all);
	two_pass_trace_close(trace);
}

static void what_has_no_event_of_a_known_kind_is_refused(void **state)
{
	assert_refused("[]", "without any event");
	assert_refused("[{\"a\": 1}, {\"b\": 2}]", "2 events, but none of a kind");
	assert_refused(
		"{\"traceEvents\": [{\"name\":\"cudaMemcpy\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},"
		"{\"name\":\"x\",\"cat\":\"v8\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]}",
		"1 of no category, 1 of v8");
	assert_refused(
		"{\"displayTimeUnit\": \"ns\", \"metadata\": {\"highres-ticks\": true}, \"traceEvents\": ["
		"{\"args\":{\"name\":\"/device:GPU:0\"},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1},"
		"{\"args\":{\"hlo_op\":\"fusion\"},\"dur\":3,\"name\":\"fusion\",\"ph\":\"X\",\"pid\":1,\"tid\":1,"
		"\"ts\":2}]}",
		"JAX or TensorFlow");
}

/* As torch.profiler writes it where no step was active. */
static void a_trace_in_which_nothing_was_recorded_is_named(void **state)
{
	static const char *const wanted[] = {"is a trace of torch.profiler in which nothing was recorded",
					     "after active steps"};

	for (size_t i = 0; i < 2; i++) {
		assert_refused("{\"schemaVersion\": 1, \"traceEvents\": []}", wanted[i]);
		assert_refused(
			"{\"schemaVersion\": 1, \"traceEvents\": [{\"name\":\"thread_name\",\"ph\":\"M\",\"ts\":0,"
			"\"pid\":9,\"tid\":1,\"args\":{\"name\":\"thread 1 ()\"}},{\"name\":\"Record Window End\","
			"\"ph\":\"i\",\"s\":\"g\",\"pid\":\"\",\"tid\":\"\",\"ts\":5}]}",
			wanted[i]);
	}
	assert_refused("{\"schemaVersion\": 1, \"traceEvents\": [{\"name\":\"x\",\"cat\":\"v8\",\"ph\":\"X\","
		       "\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]}",
		       "1 of v8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_without_a_number_is_one),
		cmocka_unit_test(functions_of_a_thread_without_a_number_are_left_out_and_said),
		cmocka_unit_test(what_begins_at_0_is_there),
		cmocka_unit_test(a_trace_of_pytorch_1_8_has_its_ops_calls_and_work),
		cmocka_unit_test(calls_of_other_accelerators_launch_their_work_whatever_their_names),
		cmocka_unit_test(a_copy_waits_that_returned_after_its_end_and_no_other),
		cmocka_unit_test(a_call_that_gputrace_does_not_follow_has_its_time),
		cmocka_unit_test(no_cause_is_made_up_for_work_whose_launch_is_not_in_the_file),
		cmocka_unit_test(what_has_no_event_of_a_known_kind_is_refused),
		cmocka_unit_test(a_trace_in_which_nothing_was_recorded_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
