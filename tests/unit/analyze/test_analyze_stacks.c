/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time and launches by whole stack, as rows. */
#include "analyzed.h"

/* Finds the row of an operation of that kind; for a kernel, by a part of its name. */
static bool find_row(const struct stack_sums *all, uint32_t kind, const char *kernel, struct stack_row *row)
{
	for (size_t i = 0; i < stack_sums_count(all); i++) {
		*row = stack_sums_row(all, i);
		if (row->has_operation && row->operation.kind == kind &&
		    (kind != MODEL_KERNEL || strstr(all->model->strings[row->operation.name], kernel)))
			return true;
	}
	return false;
}

static void a_row_has_the_stack_the_call_and_what_ran(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;
	struct stack_row row;
	char name[256];
	uint64_t sum = 0;

	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_STACKS));
	assert_true(find_row(&all.gpu_stacks, MODEL_MEMCPY, NULL, &row));
	assert_int_equal(row.value, 20 * 50000);
	assert_string_equal(api_name((uint16_t)row.api), "cudaMemcpyAsync");
	assert_string_equal(gpu_name(model, &row.operation, name, sizeof(name)), "Memcpy HtoD (Pageable -> Device)");
	assert_int_equal(model->stacks[row.stack].depth, 2);
	assert_int_equal(row.thread, NONE);
	assert_int_equal(row.captured_frame, NONE);
	assert_true(find_row(&all.gpu_stacks, MODEL_KERNEL, "triton", &row));
	assert_int_equal(row.value, 20 * 60000);
	for (size_t i = 0; i < stack_sums_count(&all.gpu_stacks); i++)
		sum += stack_sums_row(&all.gpu_stacks, i).value;
	assert_int_equal(sum, 20 * SAMPLE_GPU_NS_PER_STEP);
	analyses_free(&all);
	model_free(model);
}

static void work_without_a_stack_has_its_thread_and_whether_it_has_frames_at_all(void **state)
{
	struct model *model = sample_model(1, 2);
	struct analyses all;
	size_t known = 0, unknown = 0;

	for (uint32_t i = 0, seen = 0; i < model->call_count; i++)
		if (model->calls[i].stack == NONE && seen++)
			model->calls[i].stack_state = GPT_STACK_UNREADABLE;
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_STACKS));
	for (size_t i = 0; i < stack_sums_count(&all.gpu_stacks); i++) {
		struct stack_row row = stack_sums_row(&all.gpu_stacks, i);

		if (row.stack != NONE)
			continue;
		assert_string_equal(model->threads[row.thread].name, "pt_autograd_0");
		assert_int_equal(row.value, 60000);
		known += !row.is_unknown;
		unknown += row.is_unknown;
	}
	assert_int_equal(known, 1);
	assert_int_equal(unknown, 1);
	analyses_free(&all);
	model_free(model);
}

static void work_whose_launch_was_not_seen_says_so(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;
	uint32_t unseen = 0, before = 0;

	model->gpu[0].call = NONE;
	model->gpu[1].call = NONE;
	model->gpu[1].before = 1;
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_STACKS));
	for (size_t i = 0; i < stack_sums_count(&all.gpu_stacks); i++) {
		struct stack_row row = stack_sums_row(&all.gpu_stacks, i);

		unseen += row.api == STACK_CALL_UNSEEN;
		before += row.api == STACK_CALL_BEFORE;
		assert_int_equal(row.process, 0);
	}
	assert_int_equal(unseen, 1);
	assert_int_equal(before, 1);
	analyses_free(&all);
	model_free(model);
}

static void a_captured_operation_names_the_frame_that_was_captured(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;
	struct stack_row row;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].graph)
			model->gpu[i].captured_by = 0; /* a call of model.py:42 */
	analyze_model(&all, model, ANALYSES(ANALYZE_GPU_STACKS));
	assert_true(find_row(&all.gpu_stacks, MODEL_KERNEL, "triton", &row));
	assert_int_equal(model->frames[row.captured_frame].line, 42);
	assert_string_equal(api_name((uint16_t)row.api), "cudaGraphLaunch");
	analyses_free(&all);
	model_free(model);
}

static void a_graph_launch_counts_once_and_has_no_operation(void **state)
{
	struct model *model = sample_model(1, 3);
	struct analyses all;
	uint64_t sum = 0;

	analyze_model(&all, model, ANALYSES(ANALYZE_CALL_STACKS));
	for (size_t i = 0; i < stack_sums_count(&all.call_stacks); i++) {
		struct stack_row row = stack_sums_row(&all.call_stacks, i);

		assert_int_equal(row.value, 3);
		assert_int_equal(row.has_operation, strcmp(api_name((uint16_t)row.api), "cudaGraphLaunch") != 0);
		sum += row.value;
	}
	assert_int_equal(sum, 3 * 5);
	analyses_free(&all);
	model_free(model);
}

static void a_stack_of_backward_is_marked(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;
	size_t marked = 0;

	model->calls[0].stack_state = GPT_STACK_BACKWARD;
	analyze_model(&all, model, ANALYSES(ANALYZE_CALL_STACKS));
	for (size_t i = 0; i < stack_sums_count(&all.call_stacks); i++) {
		struct stack_row row = stack_sums_row(&all.call_stacks, i);

		marked += row.is_backward;
		assert_true(!row.is_backward || (row.stack != NONE && row.thread == NONE));
	}
	assert_int_equal(marked, 1);
	analyses_free(&all);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_the_stack_the_call_and_what_ran),
		cmocka_unit_test(work_without_a_stack_has_its_thread_and_whether_it_has_frames_at_all),
		cmocka_unit_test(work_whose_launch_was_not_seen_says_so),
		cmocka_unit_test(a_captured_operation_names_the_frame_that_was_captured),
		cmocka_unit_test(a_graph_launch_counts_once_and_has_no_operation),
		cmocka_unit_test(a_stack_of_backward_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
