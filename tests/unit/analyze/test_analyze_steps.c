/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What steps of training did, as rows and as the report has it. */
#include "analyzed.h"
#include "steps_log.h"

#include "analyze/analyze.h"
#include "report/report.h"

static void steps_are_summed_up_and_the_median_one_is_a_row(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct analyses all;
	const struct step_table *table;

	assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
	assert_int_equal(all.steps.list.count, 1);
	table = &all.steps.list.items[0];
	assert_int_equal(table->count, STEPS - 1); /* the first began before it was seen */
	assert_int_equal(table->wall_ns, STEPS * STEP_US * 1000);
	assert_int_equal(table->busy_ns, ((STEPS - 1) * 15 + 25) * 1000);
	assert_int_equal(table->launches, STEPS);
	assert_int_equal(table->median.step.end_ns - table->median.step.start_ns, STEP_US * 1000);
	assert_int_equal(table->median.busy_ns, 15000);
	assert_int_equal(table->median.launches, 1);
	analyses_free(&all);
	found_free(&found);
}

static void the_slowest_step_says_which_ops_took_longer(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct analyses all;
	const struct step_row *row;

	assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
	row = &all.steps.list.items[0].slowest[0];
	assert_int_equal(row->step.number, SLOW);
	assert_int_equal(row->busy_ns, 40000);
	assert_int_equal(row->launches, 2);
	assert_int_equal(row->more_count, 2);
	assert_string_equal(all.model->strings[row->more[0].name], "aten::copy_");
	assert_int_equal(row->more[0].more_ns, 45000); /* with the call that it made */
	assert_false(row->more[0].on_gpu);
	assert_int_equal(row->more[1].more_ns, 25000);
	assert_true(row->more[1].on_gpu);
	analyses_free(&all);
	found_free(&found);
}

static void a_step_is_not_named_as_the_op_that_took_longer(void **state)
{
	struct ops_log ops = {0};
	struct found found;
	struct analyses all;

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&ops.log, PID, TID, 900000);
	for (uint32_t i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%u", i);
		log_agent_op_name(&ops.log, ADAM + i, name);
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 100 + 100 * i,
						       .end_ns = i == 4 ? 900 : 200 + 100 * i,
						       .name = ADAM + i,
						       .sequence = -1,
						       .scope = GPT_AGENT_OP_USER_SCOPE});
	}
	assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
	assert_int_equal(all.steps.list.items[0].slowest_count, 1);
	assert_int_equal(all.steps.list.items[0].slowest[0].step.number, 4);
	assert_int_equal(all.steps.list.items[0].slowest[0].more_count, 0);
	analyses_free(&all);
	found_free(&found);
}

/* Each takes a microsecond longer than the one before. */
static struct ops_log longer_steps(uint32_t count)
{
	uint64_t at_us = 100;
	struct ops_log ops = {0};

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&ops.log, PID, TID, 9000000000);
	for (uint32_t i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%u", i);
		log_agent_op_name(&ops.log, ADAM + i, name);
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = at_us,
						       .end_ns = at_us + 1000 + i,
						       .name = ADAM + i,
						       .sequence = -1,
						       .scope = GPT_AGENT_OP_USER_SCOPE});
		at_us += 1000 + i;
	}
	return ops;
}

static void one_step_in_a_hundred_is_slower_than_p99(void **state)
{
	static const struct {
		uint32_t steps;
		size_t rows, p99; /* SIZE_MAX: none */
		uint64_t number;
	} cases[] = {{99, 5, SIZE_MAX, 0}, {100, 5, 1, 98}, {200, 5, 2, 197}, {1000, 6, 5, 989}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ops_log ops = longer_steps(cases[i].steps);
		const struct step_table *table;
		struct found found;
		struct analyses all;

		assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
		table = &all.steps.list.items[0];
		assert_int_equal(table->count, cases[i].steps);
		assert_int_equal(table->slowest_count, cases[i].rows);
		assert_int_equal(table->p99, cases[i].p99);
		if (table->p99 != SIZE_MAX)
			assert_int_equal(table->slowest[table->p99].step.number, cases[i].number);
		analyses_free(&all);
		found_free(&found);
	}
}

/* Free with free(). */
static char *report_of(struct ops_log *ops)
{
	struct found found;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write(out, find(&found, ops), &(struct report_options){.width = 100}), 0);
	fclose(out);
	found_free(&found);
	return text;
}

static void the_report_says_which_step_is_p99(void **state)
{
	struct ops_log ops = longer_steps(1000);
	char *text = report_of(&ops);

	if (!strstr(text, "\n  median: 499  ") || !strstr(text, "\n          995  ") ||
	    !strstr(text, "\n     p99: 989  "))
		fail_msg("%s", text);
	free(text);
}

static void a_kernel_counts_in_each_step_that_it_runs_in(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct analyses all;

	ops_log_launch(&ops, TID, 190, 65); /* in step 1; it runs from 195 to 260 us, and step 3 begins at 250 */
	assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
	/* 15 us of it are where step 2 has a kernel anyway */
	assert_int_equal(all.steps.list.items[0].busy_ns, ((STEPS - 1) * 15 + 25 + 65 - 15) * 1000);
	assert_int_equal(all.steps.list.items[0].median.busy_ns, 15000);
	analyses_free(&all);
	found_free(&found);
}

static void the_report_has_a_table_of_steps(void **state)
{
	struct ops_log ops = steps_log();
	char *text = report_of(&ops);

	if (!strstr(text,
		    "Steps   by Optimizer.step (Adam.step), 9 of them\n"
		    "       step  wall us  GPU busy  GPU idle  launches  ops that took longer than in the median step\n"
		    "        all    450.0     145.0     305.0         9\n"
		    "  median: 4     50.0      15.0      35.0         1\n"
		    "          6    100.0      40.0      60.0         2  aten::copy_ +45.0 us, aten::copy_ +25.0 us "
		    "on the GPU\n"
		    "  outside of them: 150.0 us before, step 0 among it, which began before it was seen; 400.0 us "
		    "after\n"))
		fail_msg("%s", text);
	free(text);
}

static void a_trace_in_which_no_steps_were_looked_for_has_no_table(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct analyses all;

	find(&found, &ops)->steps = NULL;
	assert_int_equal(analyze(&all, &found.of.trace, ANALYSES(ANALYZE_OPS, ANALYZE_STEPS), NULL), 0);
	assert_int_equal(all.steps.list.count, 0);
	analyses_free(&all);
	found_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_summed_up_and_the_median_one_is_a_row),
		cmocka_unit_test(the_slowest_step_says_which_ops_took_longer),
		cmocka_unit_test(a_step_is_not_named_as_the_op_that_took_longer),
		cmocka_unit_test(one_step_in_a_hundred_is_slower_than_p99),
		cmocka_unit_test(the_report_says_which_step_is_p99),
		cmocka_unit_test(a_kernel_counts_in_each_step_that_it_runs_in),
		cmocka_unit_test(the_report_has_a_table_of_steps),
		cmocka_unit_test(a_trace_in_which_no_steps_were_looked_for_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
