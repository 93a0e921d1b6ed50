/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The line that gets GPU work where there are two candidates: backward() or the forward op, a graph's launch or its
 * capture.
 */
#include "analyzed.h"
#include "export/folded/folded.h"
#include "forward_log.h"
#include "report/report.h"

#define CUDA_MEMCPY GPT_API(GPT_DOMAIN_RUNTIME, 41)

static char *report_with(const struct model *model, struct attribution attribution)
{
	const struct report_options options = {.width = 100, .attribution = attribution};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	return text;
}

static char *folded_with(const struct model *model, struct attribution attribution, bool by_launches)
{
	const struct export_options options = {.process = -1, .attribution = attribution, .by_launches = by_launches};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(folded_write(&sink, WHOLE_TRACE(model), &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	sink_close(&sink);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
}

static void backward_work_is_on_the_line_that_called_backward(void **state)
{
	struct model *model = forward_log_training_step();
	char *text = report_with(model, (struct attribution){});

	assert_has(text, "52.0      52.0  94.5      3  model.py:40  step\n");
	assert_has_not(text, "backward:");
	free(text);
	text = folded_with(model, (struct attribution){}, false);
	assert_string_equal(text, "python3;forward (model.py:20);cudaLaunchKernel;kernel 3000\n"
				  "python3;step (model.py:40);[backward];cudaLaunchKernel;kernel 52000\n");
	free(text);
	model_free(model);
}

static void or_on_the_lines_of_forward_ops_and_what_has_none_stays(void **state)
{
	struct model *model = forward_log_training_step();
	char *text = report_with(model, (struct attribution){.forward = true});

	assert_has(text, "43.0      43.0  78.2      2  model.py:20  forward\n");
	assert_has(text, " 7.0       7.0  12.7      1  model.py:21  forward\n");
	assert_has(text, " 5.0       5.0   9.1      1  model.py:40  step\n");
	assert_has(text,
		   "  backward: 52.0 us; 90.4 % on lines of forward ops, the rest on lines that called backward()\n");
	free(text);
	model_free(model);
}

static void folded_stacks_of_forward_ops_name_the_node(void **state)
{
	struct model *model = forward_log_training_step();
	char *text = folded_with(model, (struct attribution){.forward = true}, false);

	assert_string_equal(text, "python3;forward (model.py:20);[backward];MmBackward0;cudaLaunchKernel;kernel 40000\n"
				  "python3;forward (model.py:20);cudaLaunchKernel;kernel 3000\n"
				  "python3;forward (model.py:21);[backward];AddBackward0;cudaLaunchKernel;kernel 7000\n"
				  "python3;step (model.py:40);[backward];cudaLaunchKernel;kernel 5000\n");
	free(text);
	text = folded_with(model, (struct attribution){.forward = true}, true);
	assert_has(text, "python3;forward (model.py:20);[backward];MmBackward0;cudaLaunchKernel;kernel 1\n");
	free(text);
	model_free(model);
}

static void a_kernel_names_the_line_that_its_time_is_put_on(void **state)
{
	struct model *model = forward_log_training_step();
	char *text = report_with(model, (struct attribution){.forward = true});

	assert_has(text, "model.py:20 forward");
	free(text);
	text = report_with(model, (struct attribution){});
	assert_has(text, "model.py:40 step");
	free(text);
	model_free(model);
}

static void a_report_says_where_no_forward_lines_were_recorded(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;
	char *text;

	forward_log_launch(&forward, 205, 7);
	model = forward_log_end(&forward);
	text = report_with(model, (struct attribution){.forward = true});
	assert_has(text,
		   "  backward: 7,000 ns; 0.0 % on lines of forward ops, the rest on lines that called backward()\n"
		   "  no forward lines are known: they are recorded with --forward-lines\n");
	free(text);
	model_free(model);
}

/* A copy in a node, with nothing beside it: both lines are possible owners of what it cost. */
static struct model *make_copy_in_node(void)
{
	struct forward_log forward = forward_log_begin();
	struct log_builder *log = &forward.log;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_call(&forward, TID, 105, 3, forward_log_stack(&forward, "forward", 20), GPT_STACK_OK);
	log_call(log, (struct gpt_call){.time_ns = 225000,
					.pid = PID,
					.tid = ENGINE,
					.stack_id = forward_log_stack(&forward, "step", STEP_LINE),
					.corr = 9,
					.api = CUDA_MEMCPY,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_BACKWARD});
	log_batch(log, PID, TID, 900000000);
	log_agent_api(log, (struct gpt_agent_api){
				   .start_ns = 225000, .end_ns = 526000, .corr = 9, .tid = ENGINE, .api = CUDA_MEMCPY});
	log_agent_memcpy(log, (struct gpt_agent_memcpy){.start_wall_ns = 226000,
							.end_wall_ns = 526000,
							.bytes = 6000000,
							.corr = 9,
							.kind = 1,
							.from = 1,
							.to = 3});
	forward_log_node(&forward, "MmBackward0", 220, 600, 7, FORWARD_THREAD);
	return forward_log_end(&forward);
}

static void why_names_the_line_that_the_report_puts_a_copy_on(void **state)
{
	struct model *model = make_copy_in_node();

	for (int forward = 0; forward <= 1; forward++) {
		struct analyses all;

		assert_int_equal(analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED),
					 &(struct attribution){.forward = forward}),
				 0);
		for (size_t i = 0; i < all.why.count; i++)
			if (all.why.losses[i].cause == WHY_COPY)
				assert_line(&all, all.why.losses[i].lines[0].line,
					    forward ? "model.py:20 forward" : "model.py:40 step");
		assert_int_equal(all.why.copy_alone_ns, 300000);
		analyses_free(&all);
	}
	model_free(model);
}

/* A kernel that communicates is on the line that all other work of the op is on. */
static void the_kernel_of_a_collective_is_on_the_line_that_its_time_is_put_on(void **state)
{
	static const char *const of_backward[] = {"model.py:20 forward", "model.py:40 step", "model.py:40 step",
						  "model.py:40 step"};
	static const char *const of_forward[] = {"model.py:20 forward", "model.py:21 forward", "model.py:20 forward",
						 "model.py:40 step"};
	struct model *model = forward_log_training_step();
	struct comm_kernels names = {0};

	assert_null(comm_kernels_add(&names, "^kernel"));
	for (int forward = 0; forward <= 1; forward++) {
		const struct attribution attribution = {.forward = forward};
		const struct collective_kernels *found;
		struct analyses all;

		assert_int_equal(
			analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_COLLECTIVE_KERNELS),
				     &(struct analyze_options){.attribution = &attribution, .comm_names = &names}),
			0);
		found = &all.collective_kernels;
		assert_int_equal(found->processes.list.items[0].kernels.list.count, 4);
		for (size_t i = 0; i < 4; i++) {
			uint32_t line = found->processes.list.items[0].kernels.list.items[i].line;

			assert_string_equal(found->texts.list.items[line], (forward ? of_forward : of_backward)[i]);
		}
		analyses_free(&all);
	}
	comm_kernels_free(&names);
	model_free(model);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The sample run; a call of model.py:42 captured the operations of its graph. */
static struct model *make_captured(void)
{
	struct model *model = sample_model(1, 1);

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].graph)
			model->gpu[i].captured_by = 0;
	return model;
}

static void folded_stacks_of_graphs_are_of_the_launch_and_name_the_captured_line(void **state)
{
	struct model *model = make_captured();
	char *text = folded_with(model, (struct attribution){}, false);
	char *replay = folded_with(model, (struct attribution){.graphs = GRAPHS_REPLAY}, false);

	assert_has(text, "cudaGraphLaunch;captured at Block.forward (model.py:42);triton");
	assert_string_equal(text, replay);
	free(text);
	free(replay);
	model_free(model);
}

static void or_of_the_whole_captured_stack(void **state)
{
	struct model *model = make_captured();
	char *text = folded_with(model, (struct attribution){.graphs = GRAPHS_CAPTURE}, false);

	assert_has(text, "python3;main (train.py:97);train_step (train.py:23);Block.forward (model.py:42);[captured];"
			 "cudaGraphLaunch;triton");
	assert_has_not(text, "captured at");
	free(text);
	model_free(model);
}

static void lines_of_a_graph_are_those_that_replay_where_that_is_asked_for(void **state)
{
	struct model *model = make_captured();
	char *text = report_with(model, (struct attribution){.graphs = GRAPHS_REPLAY});

	assert_has(text, "  CUDA graphs: 90.0 us, on lines that replay\n");
	free(text);
	model_free(model);
}

static void the_total_of_a_captured_operation_is_of_one_stack_where_that_is_asked_for(void **state)
{
	struct model *model = make_captured();
	struct analyses both, captured_only;
	uint64_t total = 0, total_captured = 0;

	assert_int_equal(analyze(&both, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES), NULL), 0);
	assert_int_equal(analyze(&captured_only, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES),
				 &(struct attribution){.graphs = GRAPHS_CAPTURE}),
			 0);
	for (size_t i = 0; i < both.gpu_lines.total_count; i++)
		total += both.gpu_lines.totals[i].total;
	for (size_t i = 0; i < captured_only.gpu_lines.total_count; i++)
		total_captured += captured_only.gpu_lines.totals[i].total;
	assert_true(total > total_captured);
	assert_int_equal(both.gpu_lines.sum, captured_only.gpu_lines.sum);
	analyses_free(&both);
	analyses_free(&captured_only);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backward_work_is_on_the_line_that_called_backward),
		cmocka_unit_test(or_on_the_lines_of_forward_ops_and_what_has_none_stays),
		cmocka_unit_test(folded_stacks_of_forward_ops_name_the_node),
		cmocka_unit_test(a_kernel_names_the_line_that_its_time_is_put_on),
		cmocka_unit_test(a_report_says_where_no_forward_lines_were_recorded),
		cmocka_unit_test(why_names_the_line_that_the_report_puts_a_copy_on),
		cmocka_unit_test(the_kernel_of_a_collective_is_on_the_line_that_its_time_is_put_on),
		cmocka_unit_test(folded_stacks_of_graphs_are_of_the_launch_and_name_the_captured_line),
		cmocka_unit_test(or_of_the_whole_captured_stack),
		cmocka_unit_test(lines_of_a_graph_are_those_that_replay_where_that_is_asked_for),
		cmocka_unit_test(the_total_of_a_captured_operation_is_of_one_stack_where_that_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
