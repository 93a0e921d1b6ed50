/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads did, as rows: CPU time by line. */
#include "analyzed.h"

static void add_samples(struct model *model, struct model_sample *samples, uint32_t count)
{
	model->samples = samples;
	model->sample_count = count;
}

static void cpu_time_stands_on_the_innermost_line_and_in_the_totals_of_its_callers(void **state)
{
	struct model *model = sample_model(1, 20);
	uint32_t stack = model->calls[0].stack, thread = model->calls[0].thread;
	uint32_t innermost = model->stack_frames[model->stacks[stack].first];
	struct model_sample samples[] = {
		{.time_ns = 1,
		 .thread = thread,
		 .stack = stack,
		 .native = NONE,
		 .period_ns = 10,
		 .place = GPT_SAMPLE_USER},
		{.time_ns = 2,
		 .thread = thread,
		 .stack = stack,
		 .native = NONE,
		 .period_ns = 10,
		 .place = GPT_SAMPLE_KERNEL},
		{.time_ns = 3,
		 .thread = thread,
		 .stack = NONE,
		 .native = NONE,
		 .period_ns = 5,
		 .stack_state = GPT_STACK_NO_PYTHON,
		 .place = GPT_SAMPLE_USER},
	};
	struct analyses all;
	const struct line_row *row;
	uint64_t totals = 0;

	add_samples(model, samples, 3);
	analyze_model(&all, model, ANALYSES(ANALYZE_CPU_LINES));
	assert_int_equal(all.cpu_lines.sums.sum, 25);
	assert_int_equal(all.cpu_lines.samples, 3);
	assert_int_equal(all.cpu_lines.kernel_ns, 10);
	assert_int_equal(all.cpu_lines.sums.count, 2);
	row = &all.cpu_lines.sums.rows[0];
	assert_int_equal(row->line, line_of(&all.lines, innermost));
	assert_int_equal(row->self, 20);
	assert_int_equal(row->launches, 2);
	assert_int_equal(cpu_line_threads(&all.cpu_lines, row->line), 1);
	assert_int_equal(cpu_line_native(&all.cpu_lines, row->line), NONE);
	for (size_t i = 0; i < all.cpu_lines.sums.total_count; i++)
		totals += all.cpu_lines.sums.totals[i].total;
	assert_int_equal(totals, 20 * model->stacks[stack].depth);
	analyses_free(&all);
	add_samples(model, NULL, 0);
	model_free(model);
}

static void two_threads_of_a_line_are_counted(void **state)
{
	struct model *model = sample_model(2, 20);
	struct model_sample samples[2];
	struct analyses all;
	uint32_t other = 0;

	while (other < model->call_count && model->calls[other].thread == model->calls[0].thread)
		other++;
	assert_true(other < model->call_count);
	for (uint32_t i = 0; i < 2; i++)
		samples[i] = (struct model_sample){.time_ns = 1 + i,
						   .thread = model->calls[i ? other : 0].thread,
						   .stack = model->calls[0].stack,
						   .native = NONE,
						   .period_ns = 10,
						   .place = GPT_SAMPLE_USER};
	add_samples(model, samples, 2);
	analyze_model(&all, model, ANALYSES(ANALYZE_CPU_LINES));
	assert_int_equal(all.cpu_lines.sums.count, 1);
	assert_int_equal(cpu_line_threads(&all.cpu_lines, all.cpu_lines.sums.rows[0].line), 2);
	assert_int_equal(all.cpu_lines.process, PROCESS_MANY);
	analyses_free(&all);
	add_samples(model, NULL, 0);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_stands_on_the_innermost_line_and_in_the_totals_of_its_callers),
		cmocka_unit_test(two_threads_of_a_line_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
