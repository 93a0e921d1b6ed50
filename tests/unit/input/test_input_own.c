/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data that only gputrace's own files have, read again: graphs, ranges, memory, steps, the interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "idle_check.h"
#include "database_builder.h"

#define EVENT(category, name, tid, ts, dur, args)                                                                      \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":70,\"tid\":" tid ",\"ts\":" ts           \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define CALL(name, ts, corr, args) EVENT("cuda_runtime", name, "71", ts, "1", "\"correlation\":" corr args)
#define CAPTURED CALL("cudaLaunchKernel", "5", "5", ",\"captured\":true,\"Call stack\":\"/a.py(9): f\"")
#define REPLAY CALL("cudaGraphLaunch", "10", "6", ",\"Call stack\":\"/a.py(12): f\"")
#define NODE                                                                                                           \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":9,\"args\":{\"device\"" \
	":0,\"stream\":7,\"correlation\":6,\"graph id\":3,\"graph node id\":4,\"captured by\":5,\"shared memory\":24," \
	"\"static shared memory\":16}}"
#define OP EVENT("cpu_op", "aten::add", "71", "10", "5", "")
#define STEP(name, ts) EVENT("user_annotation", name, "71", ts, "20", "")
#define OWN(events) "{\"gputrace\":{\"recorded_ns\":90000},\"traceEvents\":[" events "]}"

static struct trace *open_text(const char *text)
{
	return open_file(file_of_bytes(text, strlen(text)), &in_one);
}

/* Closes the trace. */
static void assert_of_node(struct trace *trace)
{
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count, 2);
	assert_true(model->calls[0].captured);
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model->gpu[0].call, 1);
	assert_int_equal(model->gpu[0].captured_by, 0);
	assert_int_equal(model->gpu[0].graph, 3);
	two_pass_trace_close(trace);
}

static void a_node_of_a_graph_is_of_the_call_that_was_captured(void **state)
{
	assert_of_node(open_text(OWN(CAPTURED "," REPLAY "," NODE)));
	assert_of_node(open_text(OWN(NODE "," REPLAY "," CAPTURED)));
}

static void so_it_is_in_a_database(void **state)
{
	static const char *const statements[] = {
		"CREATE TABLE StringIds (id, value)",
		"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'cudaGraphLaunch'), (3, 'k')",
		"CREATE TABLE META_DATA_EXPORT (name, value)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, captured)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, " NSYS_TID ", 5, 1, 1), (10, 11, " NSYS_TID
		", 6, 2, NULL)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
		"globalPid, demangledName, graphNodeId, graphId, capturedBy)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 29, 0, 1, 7, 6, " NSYS_PID ", 3, 4, 3, 5)",
		NULL,
	};

	assert_of_node(open_database(statements));
	assert_same_in_parts(statements);
}

static void shared_memory_is_static_and_dynamic(void **state)
{
	struct trace *trace = open_text(OWN(CAPTURED "," REPLAY "," NODE));
	const struct model_gpu *op = &trace_first(trace)->gpu[0];

	assert_int_equal(op->static_shared_bytes, 16);
	assert_int_equal(op->dynamic_shared_bytes, 8);
	assert_false(op->unknown & MODEL_GPU_NO_STATIC_SHARED);
	two_pass_trace_close(trace);
}

static void ranges_are_no_ops_and_on_the_thread_that_they_name(void **state)
{
	struct trace *trace = open_text(
		OWN(EVENT("user_annotation", "NVTX ProfilerStep#3", "9000", "10", "20",
			  "\"NVTX\":\"push, pop\",\"thread\":71,\"domain\":\"d\"") "," EVENT("user_annotation", "free",
											     "9001", "15", "20",
											     "\"NVTX\":\"start, "
											     "end\",\"thread\":71")));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->op_count, 0);
	assert_int_equal(model->range_count, 2);
	assert_int_equal(model->threads[model->ranges[0].thread].tid, 71);
	assert_int_equal(model->ranges[0].end_ns, 30000);
	assert_string_equal(model->strings[model->ranges[0].name], "ProfilerStep#3");
	assert_string_equal(model->strings[model->ranges[0].domain], "d");
	assert_int_equal(model->ranges[1].kind, MODEL_SPAN_STARTED);
	two_pass_trace_close(trace);
}

static void memory_from_cuda_is_not_that_of_pytorch(void **state)
{
	struct trace *trace = open_text(OWN(
		CALL("cudaMalloc", "5", "5", "") ",{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","
						 "\"pid\":70,\"tid\":71,\"ts\":6,\"args\":{\"Device Type\":1,"
						 "\"Device Id\":0,\"Addr\":64,\"Bytes\":256,\"kind\":\"device\","
						 "\"of call\":5}}"));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->torch_memory_count, 0);
	assert_int_equal(model->memory_count, 1);
	assert_int_equal(model->memories[0].bytes, 256);
	assert_int_equal(model->memories[0].kind, 3);
	assert_int_equal(model->memories[0].call, 0);
	two_pass_trace_close(trace);
}

static void collections_and_imports_are_what_they_were(void **state)
{
	struct trace *trace = open_text(
		OWN(EVENT("python_import", "import a", "9000", "10", "30", "\"module\":\"a\",\"thread\":71") "," EVENT(
			"python_gc", "gc generation 2", "9000", "20", "5", "\"generation\":2,\"thread\":71") "," OP));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->pyspan_count, 2);
	assert_int_equal(model->pyspans[0].kind, MODEL_SPAN_IMPORT);
	assert_string_equal(model->strings[model->pyspans[0].name], "a");
	assert_int_equal(model->pyspans[0].end_ns, 40000);
	assert_int_equal(model->pyspans[1].generation, 2);
	assert_int_equal(model->pyspans[1].end_ns, 25000);
	two_pass_trace_close(trace);
}

/* The number of ops in a document. */
static uint32_t ops_of(const char *document)
{
	struct trace *trace = open_text(document);
	uint32_t count = trace_first(trace)->op_count;

	two_pass_trace_close(trace);
	return count;
}

static void steps_that_gputrace_found_are_no_ops(void **state)
{
	assert_int_equal(ops_of(OWN(OP "," STEP("ProfilerStep#1", "5") "," STEP("ProfilerStep#2", "40"))), 1);
	assert_int_equal(ops_of(OWN(STEP("ProfilerStep#0", "0"))), 0);
	assert_int_equal(ops_of("[" OP "," STEP("ProfilerStep#1", "5") "]"), 2);
}

static void steps_that_cannot_be_found_again_stay(void **state)
{
	assert_int_equal(ops_of(OWN(STEP("ProfilerStep#0", "5") "," STEP("ProfilerStep#1", "40"))), 2);
}

static void a_step_of_torch_profiler_has_its_name_again(void **state)
{
	struct trace *trace = open_text(OWN(OP "," STEP("torch ProfilerStep#1", "20")));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->op_count, 2);
	assert_string_equal(model->strings[model->ops[1].name], "ProfilerStep#1");
	two_pass_trace_close(trace);
}

static void the_recording_lasts_as_long_as_it_did(void **state)
{
	struct trace *trace = open_text(OWN(OP));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->start_ns, 0);
	assert_int_equal(model->end_ns, 90000);
	two_pass_trace_close(trace);
}

/* Else its first launch of a kernel would not be known as that, as in the log. */
static void a_process_that_began_in_the_recording_began_then(void **state)
{
	struct trace *trace =
		open_text("{\"gputrace\":{\"recorded_ns\":90000,\"processes\":[{\"pid\":70,\"shown as\":70,"
			  "\"began_ns\":3000}]},\"traceEvents\":[" OP "]}");
	const struct model *model = trace_first(trace);

	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->processes[0].start_ns, 3000);
	two_pass_trace_close(trace);
}

#define FAILED CALL("cudaMalloc", "5", "5", ",\"result\":2,\"Call stack of\":\"x\",\"Call stack\":\"/a.py(9): f\"")
#define NOT_BACK CALL("cudaFree", "10", "6", ",\"end\":\"not seen\"")

static void a_call_says_whose_its_stack_is_and_what_came_of_it(void **state)
{
	struct trace *trace = open_text(OWN(FAILED "," NOT_BACK));
	const struct model *model = trace_first(trace);

	assert_int_equal(model->calls[0].result, 2);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_BACKWARD);
	assert_int_equal(model->calls[1].end_ns, 0);
	two_pass_trace_close(trace);
}

static void a_node_without_numbers_is_known_by_what_is_around_it(void **state)
{
	struct trace *trace = open_text("[" EVENT(
		"cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "72", "10", "20",
		"") "," EVENT("cpu_op", "torch::autograd::AccumulateGrad", "72", "12", "10",
			      "") "," EVENT("cpu_op", "torch::autograd::AccumulateGrad", "72", "40", "10", "") "]");
	const struct model *model = trace_first(trace);

	assert_int_equal(model->op_count, 3);
	assert_int_equal(model->ops[1].scope, GPT_AGENT_OP_BACKWARD_FUNCTION);
	assert_int_equal(model->ops[2].scope, GPT_AGENT_OP_FUNCTION);
	two_pass_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_of_a_graph_is_of_the_call_that_was_captured),
		cmocka_unit_test(so_it_is_in_a_database),
		cmocka_unit_test(shared_memory_is_static_and_dynamic),
		cmocka_unit_test(ranges_are_no_ops_and_on_the_thread_that_they_name),
		cmocka_unit_test(memory_from_cuda_is_not_that_of_pytorch),
		cmocka_unit_test(collections_and_imports_are_what_they_were),
		cmocka_unit_test(steps_that_gputrace_found_are_no_ops),
		cmocka_unit_test(steps_that_cannot_be_found_again_stay),
		cmocka_unit_test(a_step_of_torch_profiler_has_its_name_again),
		cmocka_unit_test(the_recording_lasts_as_long_as_it_did),
		cmocka_unit_test(a_process_that_began_in_the_recording_began_then),
		cmocka_unit_test(a_call_says_whose_its_stack_is_and_what_came_of_it),
		cmocka_unit_test(a_node_without_numbers_is_known_by_what_is_around_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
