/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time and launches by Python line, as rows. */
#include "analyzed.h"

static void a_lines_own_time_is_what_it_launched_and_its_total_what_ran_under_it(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;
	const struct line_row *row;

	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_int_equal(all.gpu_lines.sum, 20 * SAMPLE_GPU_NS_PER_STEP);
	assert_int_equal(all.gpu_lines.count, 5);
	row = &all.gpu_lines.rows[0];
	assert_line(&all, row->line, "model.py:42 Block.forward");
	assert_int_equal(row->self, 20 * 100000);
	assert_int_equal(row->total, 20 * 100000);
	assert_int_equal(row->launches, 20);
	assert_int_equal(row->process, 0);
	row = &all.gpu_lines.totals[0];
	assert_line(&all, row->line, "train.py:97 main");
	assert_int_equal(row->self, 0);
	assert_int_equal(row->total, 20 * 245000);
	analyses_free(&all);
	model_free(model);
}

static void a_line_of_several_processes_is_one_row(void **state)
{
	struct model *model = sample_model(2, 3);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_int_equal(all.active, 2);
	assert_int_equal(all.gpu_lines.rows[0].self, 2 * 3 * 100000);
	assert_int_equal(all.gpu_lines.rows[0].process, PROCESS_MANY);
	assert_int_equal(all.gpu_lines.totals[0].process, PROCESS_MANY);
	analyses_free(&all);
	model_free(model);
}

static void a_recursive_line_has_a_stack_once_in_its_total(void **state)
{
	struct model *model = sample_model(1, 2);
	const struct model_stack *stack = &model->stacks[model->calls[0].stack];
	struct analyses all;

	for (uint32_t i = 1; i < stack->depth; i++)
		model->stack_frames[stack->first + i] = model->stack_frames[stack->first];
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_line(&all, all.gpu_lines.rows[0].line, "model.py:42 Block.forward");
	assert_int_equal(all.gpu_lines.rows[0].total, 2 * 100000);
	analyses_free(&all);
	model_free(model);
}

static void an_operation_of_a_graph_is_on_the_captured_line_and_under_the_replaying_one(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].graph)
			model->gpu[i].captured_by = 0; /* a call of model.py:42 */
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_line(&all, all.gpu_lines.rows[0].line, "model.py:42 Block.forward");
	assert_int_equal(all.gpu_lines.rows[0].self, 190000);
	assert_int_equal(all.gpu_lines.rows[0].launches, 4);
	for (size_t i = 0; i < all.gpu_lines.total_count; i++)
		if (is_line(&all, all.gpu_lines.totals[i].line, "train.py:26 train_step")) {
			assert_int_equal(all.gpu_lines.totals[i].total, 90000);
			assert_int_equal(all.gpu_lines.totals[i].self, 0);
			seen++;
		}
	assert_int_equal(seen, 1);
	analyses_free(&all);
	model_free(model);
}

static void calls_that_put_work_on_a_gpu_are_counted_by_line(void **state)
{
	struct model *model = sample_model(1, 4);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_CALL_LINES));
	assert_int_equal(all.call_lines.sum, 4 * 5); /* a wait is no such call */
	assert_int_equal(all.call_lines.rows[0].self, 4);
	assert_int_equal(all.call_lines.totals[0].total, 4 * 4);
	analyses_free(&all);
	model_free(model);
}

static void a_thread_without_python_is_one_line_which_says_why(void **state)
{
	struct model *model = sample_model(1, 2);
	struct analyses all;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].stack == NONE)
			model->calls[i].stack_state = seen++ ? GPT_STACK_NO_THREAD : GPT_STACK_UNKNOWN_LAYOUT;
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	seen = 0;
	for (size_t i = 0; i < all.gpu_lines.count; i++)
		if (is_line(&all, all.gpu_lines.rows[i].line,
			    "(thread pt_autograd_0: Python not supported or not examined yet)")) {
			assert_int_equal(all.gpu_lines.rows[i].self, 2 * 60000);
			assert_int_equal(all.gpu_lines.rows[i].total, 2 * 60000);
			seen++;
		}
	assert_int_equal(seen, 1);
	analyses_free(&all);
	model_free(model);
}

static void sample_without_python(struct log_builder *log, uint32_t pid, uint64_t time_ns, enum gpt_stack_state state)
{
	log_sample(log, (struct gpt_sample){.time_ns = time_ns,
					    .pid = pid,
					    .tid = pid,
					    .period_ns = 1000,
					    .stack_state = state,
					    .place = GPT_SAMPLE_USER});
}

/* python of the last process: 0, or what it was found to be. */
static struct model *three_children(uint16_t python, enum gpt_stack_state last)
{
	struct log_builder log;

	log_begin(&log, 1000, 0);
	for (uint32_t i = 0; i < 3; i++) {
		log_process(&log, PID + i, 1, 1100, 1050, i == 2 ? python : 0, "git", "/usr/bin/git", "", "");
		log_thread(&log, PID + i, PID + i, 1200, "git");
		sample_without_python(&log, PID + i, 2000 + i,
				      !i       ? GPT_STACK_NO_PYTHON
				      : i == 1 ? GPT_STACK_UNKNOWN_LAYOUT
					       : last);
	}
	log_end(&log, 10000);
	return model_of(&log);
}

/* Children that end before they are examined, beside one that was found to have no Python. */
static void processes_of_a_program_without_python_are_one_line(void **state)
{
	struct model *model = three_children(0, GPT_STACK_UNREADABLE);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_CPU_LINES));
	assert_int_equal(all.cpu_lines.sums.count, 1);
	assert_line(&all, all.cpu_lines.sums.rows[0].line, "(thread git: no Python in the process)");
	analyses_free(&all);
	model_free(model);
	model = three_children(0x30c, GPT_STACK_UNREADABLE); /* the program has Python */
	analyze_model(&all, model, ANALYSES(ANALYZE_CPU_LINES));
	assert_int_equal(all.cpu_lines.sums.count, 3);
	analyses_free(&all);
	model_free(model);
}

static void work_whose_call_was_not_seen_has_a_line(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	model->gpu[0].call = NONE;
	model->gpu[1].call = NONE;
	model->gpu[1].before = 1;
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_line(&all, all.gpu_lines.rows[0].line, "(call not seen)");
	assert_int_equal(all.gpu_lines.rows[0].self, 100000);
	assert_int_equal(all.gpu_lines.rows[0].launches, 0);
	analyses_free(&all);
	model_free(model);
}

static void launches_without_gpu_times_are_counted_by_line(void **state)
{
	struct model *model = sample_model(1, 3);
	struct analyses all;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].api == GPT_API(GPT_DOMAIN_RUNTIME, 211)) {
			model->calls[i].first_gpu = NONE;
			model->calls[i].gpu_count = 0;
		}
	analyze_model(&all, model, ANALYSES(ANALYZE_UNTIMED));
	assert_int_equal(all.untimed.launches.count, 1);
	assert_int_equal(all.untimed.launches.events, 3);
	assert_line(&all, all.untimed.launches.rows[0].line, "model.py:42 Block.forward");
	assert_int_equal(all.untimed.launches.rows[0].process, 0);
	analyses_free(&all);
	model_free(model);
}

static void what_was_not_asked_for_has_no_rows(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_UNTIMED));
	assert_int_equal(all.gpu_lines.count, 0);
	assert_int_equal(all.call_lines.count, 0);
	analyses_free(&all);
	model_free(model);
}

static void a_trace_without_an_end_ends_with_its_last_event(void **state)
{
	struct model *model = sample_model(1, 2);
	struct analyses all;

	model->end_ns = model->start_ns;
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_LINES));
	assert_int_equal(all.window.end_ns, SAMPLE_START + 2 * SAMPLE_STEP + 360000); /* the end of the last kernel */
	analyses_free(&all);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lines_own_time_is_what_it_launched_and_its_total_what_ran_under_it),
		cmocka_unit_test(a_line_of_several_processes_is_one_row),
		cmocka_unit_test(a_recursive_line_has_a_stack_once_in_its_total),
		cmocka_unit_test(an_operation_of_a_graph_is_on_the_captured_line_and_under_the_replaying_one),
		cmocka_unit_test(calls_that_put_work_on_a_gpu_are_counted_by_line),
		cmocka_unit_test(a_thread_without_python_is_one_line_which_says_why),
		cmocka_unit_test(processes_of_a_program_without_python_are_one_line),
		cmocka_unit_test(work_whose_call_was_not_seen_has_a_line),
		cmocka_unit_test(launches_without_gpu_times_are_counted_by_line),
		cmocka_unit_test(what_was_not_asked_for_has_no_rows),
		cmocka_unit_test(a_trace_without_an_end_ends_with_its_last_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
