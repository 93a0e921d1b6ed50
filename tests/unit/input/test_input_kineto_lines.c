/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines that a Kineto trace has besides its Python functions: of forward ops by arrows, and in stacks as text. */
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
#define ARROW(end, id, tid, ts)                                                                                        \
	"{\"ph\":\"" end "\",\"id\":" id ",\"pid\":70,\"tid\":" tid ",\"ts\":" ts                                      \
	",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"}"
#define STACK(text) "\"Call stack\":\"" text "\""

/* Forward ops of two threads have the same number; the backward node is that of the second thread. */
#define FORWARD_A EVENT("cpu_op", "aten::mm", "71", "10", "5", "\"Sequence number\":7," STACK("/a.py(11): first"))
#define FORWARD_B EVENT("cpu_op", "aten::mm", "73", "20", "5", "\"Sequence number\":7," STACK("/b.py(22): second"))
#define BACKWARD EVENT("cpu_op", "MmBackward0", "72", "50", "20", "\"Sequence number\":7,\"Fwd thread id\":3")
#define LAUNCH EVENT("cuda_runtime", "cudaLaunchKernel", "72", "55", "5", "\"cbid\":211,\"correlation\":5")
#define BEGIN ARROW("s", "9", "73", "20")
#define END ARROW("f", "9", "72", "50")

static struct trace *open_text(const char *text)
{
	return open_file(file_of_bytes(text, strlen(text)), &in_one);
}

/* "/b.py:22 second" for the innermost frame, "" without a stack; the caller frees it. */
static char *print_innermost(const struct model *model, uint32_t stack)
{
	const struct model_frame *frame;
	char *text = NULL;

	if (stack == NONE)
		return strdup("");
	frame = &model->frames[model->stack_frames[model->stacks[stack].first]];
	assert_true(asprintf(&text, "%s:%u %s", model->codes[frame->code].file, frame->line,
			     model->codes[frame->code].name) > 0);
	return text;
}

static void assert_innermost(const struct model *model, uint32_t stack, const char *expected)
{
	char *text = print_innermost(model, stack);

	assert_string_equal(text, expected);
	free(text);
}

/* The forward line of the only call. */
static void assert_forward(const char *document, const char *expected)
{
	struct trace *trace = open_text(document);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->calls[0].stack, NONE);
	assert_string_equal(model->strings[model->calls[0].node], "MmBackward0");
	assert_innermost(model, model->calls[0].forward, expected);
	two_pass_trace_close(trace);
}

static void assert_stack(const char *document, const char *expected)
{
	struct trace *trace = open_text(document);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_innermost(model, model->calls[0].stack, expected);
	two_pass_trace_close(trace);
}

/* ---- forward lines ----------------------------------------------------------------------------------------------- */

static void an_arrow_says_which_threads_op_a_backward_node_is_of(void **state)
{
	assert_forward("[" FORWARD_A "," FORWARD_B "," BEGIN "," BACKWARD "," END "," LAUNCH "]", "/b.py:22 second");
}

#define AROUND                                                                                                         \
	EVENT("cpu_op", "autograd::engine::evaluate_function: MmBackward0", "72", "48", "40",                          \
	      "\"Sequence number\":7,\"Fwd thread id\":3")

static void the_op_around_a_node_has_what_is_known_of_the_node(void **state)
{
	struct trace *trace = open_text("[" FORWARD_B "," AROUND "," BACKWARD "]");
	const struct model *model = trace_first(trace);

	assert_int_equal(model->op_count, 3);
	for (int i = 1; i < 3; i++) {
		assert_string_equal(model->strings[model->ops[i].node], "MmBackward0");
		assert_int_equal(model->ops[i].sequence, 7);
		assert_int_equal(model->ops[i].forward_thread, 3);
	}
	two_pass_trace_close(trace);
}

static void what_is_launched_around_a_node_has_its_forward_line(void **state)
{
	assert_forward("[" FORWARD_B "," AROUND "," BACKWARD "," EVENT("cuda_runtime", "cudaLaunchKernel", "72", "75",
								       "5", "\"cbid\":211,\"correlation\":6") "]",
		       "/b.py:22 second");
}

static void arrows_may_stand_anywhere_in_the_file(void **state)
{
	assert_forward("[" END "," LAUNCH "," BACKWARD "," BEGIN "," FORWARD_B "," FORWARD_A "]", "/b.py:22 second");
	assert_forward("[" BACKWARD "," BEGIN "," END "," LAUNCH "," FORWARD_B "," FORWARD_A "]", "/b.py:22 second");
}

static void without_an_arrow_it_is_that_of_the_only_thread_there_is(void **state)
{
	assert_forward("[" FORWARD_B "," BACKWARD "," LAUNCH "]", "/b.py:22 second");
}

static void without_an_arrow_and_with_two_threads_it_is_not_known(void **state)
{
	assert_forward("[" FORWARD_A "," FORWARD_B "," BACKWARD "," LAUNCH "]", "");
}

static void an_arrow_with_one_end_or_from_another_process_says_nothing(void **state)
{
	assert_forward("[" FORWARD_A "," FORWARD_B "," BEGIN "," BACKWARD "," LAUNCH "]", "");
	assert_forward("[" FORWARD_A "," FORWARD_B ",{\"ph\":\"s\",\"id\":9,\"pid\":80,\"tid\":73,\"ts\":20,"
		       "\"cat\":\"fwdbwd\"}," BACKWARD "," END "," LAUNCH "]",
		       "");
}

static void forward_lines_are_the_same_in_parts(void **state)
{
	static const char document[] = "[" FORWARD_A "," FORWARD_B "," BEGIN "," BACKWARD "," END "," LAUNCH "]";
	char *texts[2];

	for (int i = 0; i < 2; i++) {
		struct trace *trace = open_file(file_of_bytes(document, strlen(document)), i ? &in_parts : &in_one);
		size_t size;
		FILE *out = open_memstream(&texts[i], &size);

		trace_print(out, trace);
		two_pass_trace_close(trace);
		fclose(out);
	}
	assert_string_equal(texts[1], texts[0]);
	free(texts[0]);
	free(texts[1]);
}

/* ---- calls to the engine ----------------------------------------------------------------------------------------- */

#define ENGINE "<built-in method run_backward of torch._C._EngineBase object at 0x7f5a>"
#define TRAIN EVENT("python_function", "/a.py(3): train", "71", "0", "100", "")
#define RUN(tid, ts, dur) EVENT("python_function", ENGINE, tid, ts, dur, "\"CallFrom\":\"/a.py:9\"")
#define OTHER EVENT("python_function", "/b.py(3): other", "73", "0", "100", "")
#define AFTER EVENT("cuda_runtime", "cudaLaunchKernel", "72", "75", "5", "\"cbid\":211,\"correlation\":6")
#define OF_NO_NODE EVENT("cuda_runtime", "cudaLaunchKernel", "74", "55", "5", "\"cbid\":211,\"correlation\":7")

static void a_thread_of_the_engine_has_the_line_that_called_it_also_where_it_is_in_no_node(void **state)
{
	struct trace *trace = open_text("[" TRAIN "," RUN("71", "40", "50") "," BACKWARD "," LAUNCH "," AFTER "]");
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	for (int i = 0; i < 2; i++) {
		assert_innermost(model, model->calls[i].stack, "/a.py:9 train");
		assert_int_equal(model->calls[i].stack_state, GPT_STACK_BACKWARD);
	}
	assert_innermost(model, model->ops[0].stack, "/a.py:9 train");
	two_pass_trace_close(trace);
}

static void where_two_threads_are_in_the_engine_it_is_not_known_which(void **state)
{
	assert_stack("[" TRAIN "," OTHER "," RUN("71", "40", "50") "," RUN("73", "45", "50") "," BACKWARD "," LAUNCH
											     "]",
		     "");
	assert_stack("[" TRAIN "," OTHER "," RUN("71", "40", "50") "," RUN("73", "45", "5") "," BACKWARD "," LAUNCH "]",
		     "/a.py:9 train");
}

static void what_the_engine_does_when_no_thread_is_in_it_has_no_line(void **state)
{
	assert_stack("[" TRAIN "," RUN("71", "40", "10") "," BACKWARD "," LAUNCH "]", "");
}

static void other_threads_than_the_engines_have_no_line_of_it(void **state)
{
	assert_stack("[" TRAIN "," RUN("71", "40", "50") "," BACKWARD "," OF_NO_NODE "]", "");
}

static void python_inside_of_a_node_keeps_its_own_line(void **state)
{
	assert_stack("[" TRAIN "," RUN("71", "40", "50") "," BACKWARD "," LAUNCH "," EVENT(
			     "python_function", "/f.py(7): backward", "72", "52", "10", "") "]",
		     "/f.py:0 backward");
}

/* ---- annotations and memory events ------------------------------------------------------------------------------- */

static void an_annotation_is_in_the_functions_that_last_as_long_as_it_does(void **state)
{
	struct trace *trace = open_text("[" TRAIN "," EVENT(
		"python_function", "/p.py(8): __enter__", "71", "9", "5",
		"\"CallFrom\":\"/a.py:4\"") "," EVENT("user_annotation", "load", "71", "10", "40", "") "]");
	const struct model *model = trace_first(trace);

	assert_innermost(model, model->ops[0].stack, "/a.py:4 train");
	two_pass_trace_close(trace);
}

static void memory_has_the_line_that_took_it(void **state)
{
	struct trace *trace = open_text(
		"[" TRAIN ",{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":70,\"tid\":71,"
		"\"ts\":20,\"args\":{\"Device Type\":0,\"Device Id\":-1,\"Addr\":64,\"Bytes\":256,"
		"\"Total Allocated\":256,\"Total Reserved\":0}}," EVENT("python_function", "<built-in>", "71", "15",
									"10", "\"CallFrom\":\"/a.py:5\"") "]");
	const struct model *model = trace_first(trace);

	assert_int_equal(model->torch_memory_count, 1);
	assert_innermost(model, model->torch_memories[0].stack, "/a.py:5 train");
	two_pass_trace_close(trace);
}

/* ---- stacks as text ---------------------------------------------------------------------------------------------- */

#define CALL(stack) EVENT("cuda_runtime", "cudaLaunchKernel", "71", "15", "1", "\"correlation\":5," STACK(stack))
#define FUNCTION EVENT("python_function", "/a.py(3): f", "71", "5", "50", "")

static void a_call_has_the_lines_of_its_stack_without_calls_of_c_and_modules(void **state)
{
	struct trace *trace = open_text(
		"[" CALL("<built-in function linear>;/x (2)/a.py(14): f;nn.Module: Linear_0;b.py(3): <module>;") "]");
	const struct model *model = trace_first(trace);
	const struct model_stack *stack = &model->stacks[model->calls[0].stack];

	assert_int_equal(stack->depth, 2);
	assert_int_equal(stack->missing, 0);
	assert_innermost(model, model->calls[0].stack, "/x (2)/a.py:14 f");
	two_pass_trace_close(trace);
}

static void functions_that_are_open_come_before_stacks_as_text(void **state)
{
	assert_stack("[" FUNCTION "," CALL("/a.py(3): f;") "]", "/a.py:0 f");
}

static void in_a_file_of_gputrace_stacks_as_text_come_first_as_they_have_lines(void **state)
{
	assert_stack("{\"traceEvents\":[" FUNCTION "," CALL("/a.py(14): f") "],\"gputrace\":{}}", "/a.py:14 f");
}

static void frames_that_were_left_out_are_missing_in_the_same_place(void **state)
{
	struct trace *trace = open_text("[" CALL("a(1): a;b(2): b;[872 frames left out];c(3): c") "]");
	const struct model *model = trace_first(trace);
	const struct model_stack *stack = &model->stacks[model->calls[0].stack];

	assert_int_equal(stack->depth, 3);
	assert_int_equal(stack->gap, 2);
	assert_int_equal(stack->missing, 872);
	two_pass_trace_close(trace);
}

static void of_a_stack_that_is_too_deep_the_innermost_frames_are_kept(void **state)
{
	char *document = NULL;
	size_t size;
	FILE *out = open_memstream(&document, &size);
	struct trace *trace;
	const struct model *model;

	fputs("[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":70,\"tid\":71,\"ts\":1,"
	      "\"dur\":1,\"args\":{\"correlation\":5,\"Call stack\":\"",
	      out);
	for (int i = 1; i <= GPT_PYSTACK_MAX_FRAMES + 10; i++)
		fprintf(out, "a.py(%d): f%d;", i, i);
	fputs("\"}}]", out);
	fclose(out);
	trace = open_text(document);
	model = trace_first(trace);
	assert_int_equal(model->stacks[model->calls[0].stack].depth, GPT_PYSTACK_MAX_FRAMES);
	assert_int_equal(model->stacks[model->calls[0].stack].gap, GPT_PYSTACK_MAX_FRAMES);
	assert_int_equal(model->stacks[model->calls[0].stack].missing, 10);
	assert_innermost(model, model->calls[0].stack, "a.py:1 f1");
	two_pass_trace_close(trace);
	free(document);
}

static void a_text_that_is_no_stack_is_none(void **state)
{
	assert_stack("[" CALL(";;;") "]", "");
	assert_stack("[" CALL("[ frames left out]") "]", "");
	assert_stack("[" CALL("a.py(: f") "]", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arrow_says_which_threads_op_a_backward_node_is_of),
		cmocka_unit_test(the_op_around_a_node_has_what_is_known_of_the_node),
		cmocka_unit_test(what_is_launched_around_a_node_has_its_forward_line),
		cmocka_unit_test(arrows_may_stand_anywhere_in_the_file),
		cmocka_unit_test(without_an_arrow_it_is_that_of_the_only_thread_there_is),
		cmocka_unit_test(without_an_arrow_and_with_two_threads_it_is_not_known),
		cmocka_unit_test(an_arrow_with_one_end_or_from_another_process_says_nothing),
		cmocka_unit_test(forward_lines_are_the_same_in_parts),
		cmocka_unit_test(a_thread_of_the_engine_has_the_line_that_called_it_also_where_it_is_in_no_node),
		cmocka_unit_test(where_two_threads_are_in_the_engine_it_is_not_known_which),
		cmocka_unit_test(what_the_engine_does_when_no_thread_is_in_it_has_no_line),
		cmocka_unit_test(other_threads_than_the_engines_have_no_line_of_it),
		cmocka_unit_test(python_inside_of_a_node_keeps_its_own_line),
		cmocka_unit_test(an_annotation_is_in_the_functions_that_last_as_long_as_it_does),
		cmocka_unit_test(memory_has_the_line_that_took_it),
		cmocka_unit_test(a_call_has_the_lines_of_its_stack_without_calls_of_c_and_modules),
		cmocka_unit_test(functions_that_are_open_come_before_stacks_as_text),
		cmocka_unit_test(in_a_file_of_gputrace_stacks_as_text_come_first_as_they_have_lines),
		cmocka_unit_test(frames_that_were_left_out_are_missing_in_the_same_place),
		cmocka_unit_test(of_a_stack_that_is_too_deep_the_innermost_frames_are_kept),
		cmocka_unit_test(a_text_that_is_no_stack_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
