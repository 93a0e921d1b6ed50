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

/* Two short samples in one native function, and one in another that stands for more time than both. */
static void a_line_is_mostly_in_the_native_function_with_most_time_not_with_most_samples(void **state)
{
	struct model *model = sample_model(1, 20);
	struct model_native natives[] = {{.first = 0, .depth = 1}, {.first = 1, .depth = 1}},
			    *own_natives = model->natives;
	uint32_t frames[] = {0, 1}, *own_frames = model->native_frames;
	struct model_sample samples[3];
	struct analyses all;

	for (uint32_t i = 0; i < 3; i++)
		samples[i] = (struct model_sample){.time_ns = 1 + i,
						   .thread = model->calls[0].thread,
						   .stack = model->calls[0].stack,
						   .native = i == 2,
						   .period_ns = i == 2 ? 50 : 10,
						   .place = GPT_SAMPLE_USER};
	add_samples(model, samples, 3);
	model->natives = natives;
	model->native_frames = frames;
	analyze_model(&all, model, ANALYSES(ANALYZE_CPU_LINES));
	assert_int_equal(all.cpu_lines.sums.sum, 70);
	assert_int_equal(cpu_line_native(&all.cpu_lines, all.cpu_lines.sums.rows[0].line), 1);
	analyses_free(&all);
	add_samples(model, NULL, 0);
	model->natives = own_natives;
	model->native_frames = own_frames;
	model_free(model);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static const struct line_tally_row *row_for(const struct analyses *all, uint32_t reason)
{
	for (size_t i = 0; i < all->off_cpu.count; i++)
		if (all->off_cpu.rows[i].part[0] == reason)
			return &all->off_cpu.rows[i];
	return NULL;
}

static void analyze_waits(struct analyses *all, struct model *model, struct model_wait *waits, uint32_t count)
{
	model->waits = waits;
	model->wait_count = count;
	analyze_model(all, model, ANALYSES(ANALYZE_OFF_CPU));
	model->waits = NULL;
	model->wait_count = 0;
}

static struct model_wait wait_in(const struct model *model, enum gpt_wait_reason reason)
{
	return (struct model_wait){.start_ns = 100,
				   .woken_ns = 150,
				   .end_ns = 180,
				   .thread = model->calls[0].thread,
				   .stack = model->calls[0].stack,
				   .native = NONE,
				   .waker = NONE,
				   .waker_stack = NONE,
				   .holder = NONE,
				   .reason = (uint8_t)reason};
}

static void a_wait_is_for_its_reason_until_it_is_woken_and_then_for_a_cpu(void **state)
{
	struct model *model = sample_model(1, 20);
	struct model_wait wait = wait_in(model, GPT_WAIT_PIPE);
	struct analyses all;
	const struct line_tally_row *row;

	wait.woken_by = GPT_WAKER_THREAD;
	wait.waker = wait.thread;
	wait.waker_stack = wait.stack;
	analyze_waits(&all, model, &wait, 1);
	assert_int_equal(all.off_cpu.ns, 80);
	row = row_for(&all, GPT_WAIT_PIPE);
	assert_int_equal(row->ns, 50);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->part[1], row->line);
	row = row_for(&all, OFF_CPU_RUNNABLE);
	assert_int_equal(row->ns, 30);
	assert_string_equal(off_cpu_reason(row->part[0]), "no CPU (runnable)");
	analyses_free(&all);
	model_free(model);
}

static void a_thread_that_never_slept_has_one_reason_and_no_waker(void **state)
{
	struct model *model = sample_model(1, 20);
	struct model_wait wait = wait_in(model, GPT_WAIT_PREEMPTED);
	struct analyses all;

	wait.woken_ns = wait.start_ns;
	analyze_waits(&all, model, &wait, 1);
	assert_int_equal(all.off_cpu.count, 1);
	assert_int_equal(all.off_cpu.rows[0].ns, 80);
	assert_int_equal(all.off_cpu.rows[0].part[1], OFF_CPU_WAKER_UNKNOWN);
	analyses_free(&all);
	model_free(model);
}

static void wakers_that_are_not_followed_have_their_names(void **state)
{
	struct model *model = sample_model(1, 20);
	struct model_wait waits[] = {wait_in(model, GPT_WAIT_FILE), wait_in(model, GPT_WAIT_FILE),
				     wait_in(model, GPT_WAIT_SLEEP)};
	struct analyses all;
	const struct line_tally_row *row;

	for (int i = 0; i < 2; i++) {
		waits[i].woken_by = GPT_WAKER_OTHER;
		strcpy(waits[i].waker_name, "kworker");
		waits[i].woken_ns = 0;
	}
	waits[2].woken_by = GPT_WAKER_INTERRUPT;
	analyze_waits(&all, model, waits, 3);
	row = row_for(&all, GPT_WAIT_FILE);
	assert_int_equal(row->ns, 160); /* the time of the wake-up is not known */
	assert_int_equal(row->count, 2);
	assert_int_equal(row->part[1], OFF_CPU_WAKER_NAME);
	assert_string_equal(all.off_cpu.names.items[0].text, "kworker");
	assert_int_equal(row_for(&all, GPT_WAIT_SLEEP)->part[1], OFF_CPU_WAKER_INTERRUPT);
	analyses_free(&all);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_stands_on_the_innermost_line_and_in_the_totals_of_its_callers),
		cmocka_unit_test(two_threads_of_a_line_are_counted),
		cmocka_unit_test(a_line_is_mostly_in_the_native_function_with_most_time_not_with_most_samples),
		cmocka_unit_test(a_wait_is_for_its_reason_until_it_is_woken_and_then_for_a_cpu),
		cmocka_unit_test(a_thread_that_never_slept_has_one_reason_and_no_waker),
		cmocka_unit_test(wakers_that_are_not_followed_have_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
