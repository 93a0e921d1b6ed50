/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The module of PyTorch on the slices of GPU work, in the Chrome trace. */
#include <unistd.h>

#include "export/chrome/chrome.h"
#include "input/gpt/gpt_trace.h"
#include "module_log.h"
#include "whole_trace.h"

static char *timeline_of(struct trace *trace)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(chrome_write(&sink, trace, &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	sink_close(&sink);
	return text;
}

/* All kernels' layers, "layer (class) ", "- " of those without. */
static void assert_layers_of(struct trace *trace, const char *expected)
{
	char *text = timeline_of(trace), *rest = text, *line, found[512] = "", layer[64], class[64];

	while ((line = strsep(&rest, "\n"))) {
		const char *arg = strstr(line, "\"layer\":\"");

		if (!strstr(line, "\"cat\":\"kernel\""))
			continue;
		if (!arg) {
			strcat(found, "- ");
			continue;
		}
		assert_int_equal(sscanf(arg, "\"layer\":\"%63[^\"]\",\"layer class\":\"%63[^\"]\"", layer, class), 2);
		sprintf(found + strlen(found), "%s (%s) ", layer, class);
	}
	assert_string_equal(found, expected);
	free(text);
}

static void assert_layers(struct forward_log *made, const char *expected)
{
	struct model *model = forward_log_end(made);

	assert_layers_of(WHOLE_TRACE(model), expected);
	model_free(model);
}

static void a_kernel_names_the_innermost_module_that_launched_it(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	describe(&made, LOOSE, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	launch_in(&made, 100, 5, IN(LEAF, BLOCK, NET));
	launch_in(&made, 200, 5, IN(NET));
	launch_in(&made, 300, 5, IN(LOOSE));
	launch_in(&made, 400, 5, IN(0));
	assert_layers(&made, "Net.blocks.0.up (Linear) Net (Net) [no name] (Replica) - ");
}

static void roots_of_one_class_have_the_numbers_that_the_report_has(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	describe(&made, OTHER_LEAF, 2, (const char *const[]){"blocks.0.up", "Linear", "Net", ""});
	launch_in(&made, 100, 5, IN(LEAF, NET));
	launch_in(&made, 200, 5, IN(OTHER_LEAF));
	assert_layers(&made, "Net#1.blocks.0.up (Linear) Net#2.blocks.0.up (Linear) ");
}

/* Also in the parts of a long trace that come before it was read again. */
static void a_module_has_the_name_that_it_had_last(void **state)
{
	static const struct trace_division small = {.chunk_records = 1, .part_events = 1};
	struct forward_log made = forward_log_begin();
	struct trace *trace;
	const char *why;
	int fd;

	(void)state;
	describe(&made, LEAF, 1, (const char *const[]){"before", "Linear", "Net", ""});
	for (uint64_t time_us = 1000; time_us <= 5000; time_us += 1000) {
		if (time_us == 5000)
			describe(&made, LEAF, 1, (const char *const[]){"after", "Linear", "Net", ""});
		launch_in(&made, time_us, 5, IN(LEAF));
	}
	log_end(&made.log, 900000000);
	fd = log_fd(&made.log);
	log_free(&made.log);
	assert_int_equal(gpt_trace_open(fd, &small, NULL, &trace, &why), 0);
	assert_layers_of(trace, "Net.after (Linear) Net.after (Linear) Net.after (Linear) Net.after (Linear) "
				"Net.after (Linear) ");
	gpt_trace_close(trace);
	close(fd);
}

static void a_graph_s_kernel_names_the_module_in_which_it_was_captured_or_else_launched(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_graph_in(&made, 100, 5, IN(LEAF, NET), IN(NET));
	assert_layers(&made, "Net.blocks.0.up (Linear) ");
	made = forward_log_begin();
	describe_net(&made);
	launch_graph_in(&made, 100, 5, IN(0), IN(BLOCK, NET));
	assert_layers(&made, "Net.blocks.0 (Block) ");
}

/* Where the stack of the forward op is known its module is; the caller of backward() was in none. */
static void backward_work_names_the_module_of_the_forward_op(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	log_stack_of_op_in(&made, 99999, IN(LEAF, NET));
	forward_log_op(
		&made, "aten::mm",
		(struct gpt_agent_op){
			.start_ns = 100, .end_ns = 110, .sequence = 7, .thread = FORWARD_THREAD, .stack = made.taken},
		0);
	forward_log_layer(&made, "aten::relu", 120, 130, 8, 20);
	forward_log_launch(&made, 205, 1);
	forward_log_node(&made, "MmBackward0", 200, 210, 7, FORWARD_THREAD);
	forward_log_launch(&made, 225, 1);
	forward_log_node(&made, "ReluBackward0", 220, 230, 8, FORWARD_THREAD);
	forward_log_call(&made, ENGINE, 245, 2, stack_in(&made, IN(0)), GPT_STACK_OK); /* by Python in the node */
	forward_log_node(&made, "MmBackward0", 240, 250, 7, FORWARD_THREAD);
	assert_layers(&made, "Net.blocks.0.up (Linear) - Net.blocks.0.up (Linear) ");
}

/* All slices of modules: "name (class) start-end ", in us, in the order of the file. */
static void assert_slices(struct forward_log *made, const char *expected)
{
	struct model *model = forward_log_end(made);
	char *text = timeline_of(WHOLE_TRACE(model)), *rest = text, *line, found[1024] = "", name[64], class[64];

	while ((line = strsep(&rest, "\n"))) {
		const char *named = strstr(line, "\"name\":\""), *of_class = strstr(line, "\"layer class\":\"");
		const char *start = strstr(line, "\"ts\":"), *length = strstr(line, "\"dur\":");

		if (!strstr(line, "\"cat\":\"layer\""))
			continue;
		assert_true(named && of_class && start && length);
		assert_int_equal(sscanf(named, "\"name\":\"%63[^\"]", name), 1);
		assert_int_equal(sscanf(of_class, "\"layer class\":\"%63[^\"]", class), 1);
		sprintf(found + strlen(found), "%s (%s) %.0f-%.0f ", name, class, strtod(start + 5, NULL),
			strtod(start + 5, NULL) + strtod(length + 6, NULL));
	}
	assert_string_equal(found, expected);
	free(text);
	model_free(model);
}

static void calls_of_modules_are_slices_that_nest(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	describe(&made, OTHER_LEAF, 2, (const char *const[]){"", "Linear", "Linear", ""});
	launch_in(&made, 100, 5, IN(LEAF, BLOCK, NET));
	launch_in(&made, 200, 5, IN(LEAF, BLOCK, NET));
	launch_in(&made, 300, 5, IN(OTHER_LEAF, BLOCK, NET)); /* from the same line */
	launch_in(&made, 400, 5, IN(NET));
	launch_in(&made, 500, 5, IN(0));
	assert_slices(&made, "Net (Net) 100-400 Net.blocks.0 (Block) 100-300 Net.blocks.0.up (Linear) 100-200 "
			     "Linear (Linear) 300-300 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_names_the_innermost_module_that_launched_it),
		cmocka_unit_test(roots_of_one_class_have_the_numbers_that_the_report_has),
		cmocka_unit_test(a_module_has_the_name_that_it_had_last),
		cmocka_unit_test(a_graph_s_kernel_names_the_module_in_which_it_was_captured_or_else_launched),
		cmocka_unit_test(backward_work_names_the_module_of_the_forward_op),
		cmocka_unit_test(calls_of_modules_are_slices_that_nest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
