/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In other tools' files: which launches were captured, whose work is whose, and which op is in which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "database_builder.h"

#define EVENT(category, name, pid, tid, ts, dur, args)                                                                 \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts      \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define CALL(name, tid, ts, corr) EVENT("cuda_runtime", name, "70", tid, ts, "2", "\"correlation\":" corr)
#define KERNEL(name, ts, corr)                                                                                         \
	EVENT("kernel", name, "0", "7", ts, "5", "\"device\":0,\"context\":1,\"stream\":7,\"correlation\":" corr)

static char *printed_file(int fd, const struct trace_division *division)
{
	struct trace *trace = open_file(dup(fd), division);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	trace_print(out, trace);
	two_pass_trace_close(trace);
	fclose(out);
	return text;
}

/* The file as a whole, after it was seen to be the same in parts; closes it. */
static struct trace *open_both_ways(int fd)
{
	char *one = printed_file(fd, &in_one), *many = printed_file(fd, &in_parts);
	struct trace *trace;

	assert_string_equal(many, one);
	free(one);
	free(many);
	trace = open_file(fd, &in_one);
	assert_null(model_check(trace_first(trace)));
	return trace;
}

static void assert_launches(int fd, uint64_t captured, uint64_t expected, uint64_t joined)
{
	struct trace *trace = open_both_ways(fd);
	const struct model_receipt *receipt = &model_source(trace_first(trace))->receipt;

	assert_int_equal(receipt->bad_records, 0);
	assert_int_equal(receipt->launches_captured, captured);
	assert_int_equal(receipt->launches_expected, expected);
	assert_int_equal(receipt->launches_joined, joined);
	assert_int_equal(receipt->operations_missing, expected - joined);
	two_pass_trace_close(trace);
}

static int text_file(const char *text)
{
	return file_of_bytes(text, strlen(text));
}

static void what_is_launched_between_the_calls_of_a_capture_was_captured(void **state)
{
	/* by the thread that captures and by another, before and after; a copy; the graph itself */
	assert_launches(
		text_file("[" CALL("cudaLaunchKernel", "71", "10", "1") "," KERNEL("a", "13", "1") "," CALL(
			"cudaStreamBeginCapture", "71", "20",
			"2") "," CALL("cudaLaunchKernel", "71", "30",
				      "3") "," CALL("cudaMemcpyAsync", "71", "33",
						    "4") "," CALL("cudaLaunchKernel", "72", "35",
								  "5") "," CALL("cudaStreamEndCapture", "71", "40",
										"6") "," CALL("cudaGraphLaunch", "71",
											      "50",
											      "7") "," KERNEL("b", "53",
													      "7") "]"),
		2, 2, 2);
	/* HIP's and the driver's calls, as events come in any order */
	assert_launches(
		text_file("[" EVENT("cuda_driver", "cuStreamEndCapture", "70", "71", "40", "2", "") "," EVENT(
			"cuda_driver", "cuLaunchKernel", "70", "71", "30", "2",
			"\"correlation\":3") "," EVENT("cuda_driver", "cuStreamBeginCapture_v2", "70", "71", "20", "2",
						       "") "," CALL("hipStreamBeginCapture", "72", "60",
								    "4") "," CALL("hipStreamEndCapture", "72", "80",
										  "5") "," CALL("hipLaunchKernel", "72",
												"70", "6") "]"),
		2, 0, 0);
}

static void what_ran_or_is_in_no_whole_capture_was_not_captured(void **state)
{
	/* on another stream, it ran */
	assert_launches(text_file("[" CALL("cudaStreamBeginCapture", "71", "20", "2") "," CALL(
				"cudaLaunchKernel", "71", "30",
				"3") "," KERNEL("a", "33", "3") "," CALL("cudaStreamEndCapture", "71", "40", "6") "]"),
			0, 1, 1);
	/* its end is not in the file; only its end is; another thread ended something */
	assert_launches(text_file("[" CALL("cudaLaunchKernel", "71", "10", "1") "," CALL(
				"cudaStreamEndCapture", "71", "20",
				"2") "," CALL("cudaStreamBeginCapture", "71", "30",
					      "3") "," CALL("cudaLaunchKernel", "71", "40",
							    "4") "," CALL("cudaStreamEndCapture", "72", "50", "5") "]"),
			0, 2, 0);
}

#define RUNTIME_TABLE                                                                                                  \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, \"end\", globalTid, correlationId, nameId, returnValue)"

static void a_capture_of_a_database_that_could_not_begin_is_none(void **state)
{
	static const char *const statements[] = {
		"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)",
		"INSERT INTO StringIds VALUES(1, 'cudaStreamBeginCapture_v10000'), (2, 'cudaLaunchKernel_v7000'), "
		"(3, 'cudaStreamEndCapture_v10000')",
		"CREATE TABLE META_DATA_EXPORT(name, value)",
		RUNTIME_TABLE,
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
		"(100, 110, " NSYS_TID ", 1, 1, 0), (120, 125, " NSYS_TID ", 2, 2, 0), (130, 135, " NSYS_TID
		", 3, 3, 0), "
		"(200, 210, " NSYS_TID ", 4, 1, 900), (220, 225, " NSYS_TID ", 5, 2, 0), (230, 235, " NSYS_TID
		", 6, 3, 901)",
		NULL,
	};

	assert_launches(database_file(statements), 1, 1, 0);
}

#define RANK(pid)                                                                                                      \
	EVENT("cuda_runtime", "cudaLaunchKernel", pid, pid, "10", "2", "\"correlation\":5")                            \
	"," EVENT("cuda_runtime", "cudaDeviceSynchronize", pid, pid, "20", "9", "\"correlation\":6")
#define SYNC EVENT("cuda_sync", "Context Sync", "0", "7", "20", "9", "\"device\":0,\"context\":1,\"correlation\":6")

static void ranks_that_were_appended_have_each_their_own_work(void **state)
{
	static const char text[] = "[" RANK("70") "," KERNEL("of70", "40", "5") "," SYNC "," RANK("80") "," KERNEL(
		"of80", "41", "5") "," SYNC "," RANK("90") "," KERNEL("of90", "42", "5") "," SYNC "]";

	struct trace *trace = open_both_ways(text_file(text));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 3);
	assert_int_equal(model->sync_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct model_gpu *op = &model->gpu[i];
		char *name = xasprintf("of%u", model->processes[op->process].pid);

		assert_string_equal(model->strings[op->name], name);
		assert_int_equal(model->threads[model->calls[op->call].thread].process, op->process);
		assert_int_not_equal(model->syncs[i].call, NONE);
		free(name);
	}
	two_pass_trace_close(trace);
}

/* Ranks 70 and 80 that share correlation ids, sorted by time as one trace; their GPUs are 0 and 1. */
#define FIRST EVENT("cpu_op", "first", "70", "70", "1", "1", "")
#define CALLED(pid, ts, name, corr) "," EVENT("cuda_runtime", name, pid, pid, ts, "2", "\"correlation\":" corr)
#define LAUNCHED(pid, ts, corr) CALLED(pid, ts, "cudaLaunchKernel", corr)
#define OF_GPU(category, device, name, ts, corr)                                                                       \
	"," EVENT(category, name, device, "7", ts, "3",                                                                \
		  "\"device\":" device ",\"context\":1,\"stream\":7,\"correlation\":" corr)
#define RAN(device, ts, corr) OF_GPU("kernel", device, "k", ts, corr)
#define COPIED(device, ts, corr) OF_GPU("gpu_memcpy", device, "Memcpy HtoD (Pinned -> Device)", ts, corr)
#define WAITED(device, ts, corr) OF_GPU("cuda_sync", device, "Context Sync", ts, corr)

/* clang-format off: an event a line */
static const char mixed[] = "[" FIRST
	/* neither time nor the number of kernels says whose these are */
	LAUNCHED("70", "10", "1") LAUNCHED("80", "11", "1") RAN("1", "20", "1") RAN("0", "21", "1")
	/* before the other one's call */
	LAUNCHED("70", "30", "2") RAN("0", "35", "2")
	/* the call of 70 has its kernel */
	LAUNCHED("80", "40", "2") RAN("1", "45", "2")
	/* another kind of work */
	LAUNCHED("70", "50", "3") CALLED("80", "51", "cudaMemcpyAsync", "3") COPIED("1", "55", "3") RAN("0", "56", "3")
	/* the wait of 80 has the time of its call */
	CALLED("70", "60", "cudaDeviceSynchronize", "4") CALLED("80", "61", "cudaDeviceSynchronize", "4")
		WAITED("1", "61", "4") WAITED("0", "62", "4") "]";

/* Both ranks use one GPU. */
static const char on_one_gpu[] = "[" FIRST LAUNCHED("70", "10", "1") LAUNCHED("80", "11", "1") LAUNCHED("70", "12", "2")
	RAN("0", "20", "1") RAN("0", "25", "1") "]";
/* clang-format on */

static void assert_owners(const struct model *model)
{
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];

		assert_int_not_equal(op->call, NONE);
		assert_int_equal(model->processes[op->process].pid, op->device ? 80 : 70);
		assert_int_equal(model->threads[model->calls[op->call].thread].process, op->process);
	}
}

static void ranks_that_were_mixed_have_each_their_own_work(void **state)
{
	struct trace *trace = open_both_ways(text_file(mixed));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 6);
	assert_owners(model);
	assert_int_equal(model->sync_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct model_call *call = &model->calls[model->syncs[i].call];

		assert_int_equal(model->processes[model->threads[call->thread].process].pid,
				 model->syncs[i].start_ns == model->start_ns + 60000 ? 80 : 70);
	}
	assert_int_equal(model->note_count, 0);
	two_pass_trace_close(trace);
}

static void work_of_which_nothing_says_whose_it_is_has_no_launch(void **state)
{
	struct trace *trace = open_both_ways(text_file(on_one_gpu));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model->gpu[0].call, NONE);
	assert_int_equal(model->gpu[1].call, NONE);
	assert_int_equal(model->note_count, 1);
	assert_non_null(strstr(model->notes[0], "2 GPU operations are without a launch: several processes"));
	two_pass_trace_close(trace);
}

static void of_ops_with_the_same_times_the_first_in_the_file_encloses_the_others(void **state)
{
#define OP(name, ts, dur) EVENT("cpu_op", name, "70", "71", ts, dur, "")
	static const char text[] = "[" OP("outer", "10", "20") "," OP("middle", "10", "20") "," OP(
		"inner", "10", "20") "," OP("whole", "9", "30") "," CALL("cudaLaunchKernel", "71", "15", "1") "]";
	static const char *const names[] = {"whole", "outer", "middle", "inner"};

	struct trace *trace = open_both_ways(text_file(text));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->op_count, 4);
	for (uint32_t i = 0; i < model->op_count; i++)
		assert_string_equal(model->strings[model->ops[i].name], names[i]);
	assert_int_equal(model->calls[0].op, 1 + model->ops[3].number);
	two_pass_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_launched_between_the_calls_of_a_capture_was_captured),
		cmocka_unit_test(what_ran_or_is_in_no_whole_capture_was_not_captured),
		cmocka_unit_test(a_capture_of_a_database_that_could_not_begin_is_none),
		cmocka_unit_test(ranks_that_were_appended_have_each_their_own_work),
		cmocka_unit_test(ranks_that_were_mixed_have_each_their_own_work),
		cmocka_unit_test(work_of_which_nothing_says_whose_it_is_has_no_launch),
		cmocka_unit_test(of_ops_with_the_same_times_the_first_in_the_file_encloses_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
