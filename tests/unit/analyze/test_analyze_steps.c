/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps of training, as rows and in the report. */
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
	assert_int_equal(row->more[0].more_ns, 45000); /* includes the call that it made */
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

/* Each step takes a microsecond longer than the one before. */
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
		size_t rows, p99; /* SIZE_MAX: no row */
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

/* The caller frees it with free(). */
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
	/* for 15 us of it step 2 has a kernel anyway */
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
		    "       step  wall us  GPU busy  GPU idle  launches  idle mostly          ops that took longer "
		    "than "
		    "in the median step\n"
		    "        all    450.0     145.0     305.0         9  small kernels 100 %\n"
		    "  median: 4     50.0      15.0      35.0         1  small kernels 100 %\n"
		    "          6    100.0      40.0      60.0         2  small kernels 100 %  aten::copy_ +45.0 us, "
		    "aten::copy_ +25.0 us on the GPU\n"
		    "  outside of them: 150.0 us before, step 0 among it, which began before it was seen; 400.0 us "
		    "after\n"))
		fail_msg("%s", text);
	free(text);
}

/* ---- idle time by cause ------------------------------------------------------------------------------------------ */

static void add_profiler_step(struct ops_log *ops, uint32_t number, uint64_t start_us, uint64_t end_us)
{
	char name[32];

	snprintf(name, sizeof(name), "ProfilerStep#%u", number);
	log_agent_op_name(&ops->log, ADAM + number, name);
	ops_log_op(ops, (struct gpt_agent_op){.start_ns = start_us,
					      .end_ns = end_us,
					      .name = ADAM + number,
					      .sequence = -1,
					      .scope = GPT_AGENT_OP_USER_SCOPE});
}

#define NEXT 20 /* the name of a DataLoader's next */

/*
 * In us:
 *	steps         |0: 25.............275|1: 275...............650|2: 650..850|
 *	DataLoader                |200..............400|
 *	GPU     7..12   55..75                            425..450                885..890
 */
static struct ops_log steps_with_a_loader_across(void)
{
	struct ops_log ops = {0};

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&ops.log, PID, TID, 900000);
	log_agent_name(&ops.log, 1, "kernel");
	log_agent_op_name(&ops.log, NEXT, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	add_profiler_step(&ops, 0, 25, 275);
	add_profiler_step(&ops, 1, 275, 650);
	add_profiler_step(&ops, 2, 650, 850);
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 200,
					       .end_ns = 400,
					       .name = NEXT,
					       .sequence = -1,
					       .scope = GPT_AGENT_OP_USER_SCOPE});
	ops_log_launch(&ops, TID, 2, 5);
	ops_log_launch(&ops, TID, 50, 20);
	ops_log_launch(&ops, TID, 420, 25);
	ops_log_launch(&ops, TID, 880, 5);
	return ops;
}

static void assert_idle(const struct analyses *all, size_t which, uint64_t data_us, uint64_t late_us,
			uint64_t launch_us, uint64_t gpu_us)
{
	struct idle_by_cause idle = idle_steps_slot(&all->idle.steps, step_slot(0, which));

	assert_int_equal(idle.ns[WHY_DATA], data_us * 1000);
	assert_int_equal(idle.ns[WHY_PROGRAM], late_us * 1000);
	assert_int_equal(idle.ns[WHY_LAUNCH], launch_us * 1000);
	assert_int_equal(idle.ns[WHY_GPU], gpu_us * 1000);
	assert_int_equal(idle.sum_ns, (data_us + late_us + launch_us + gpu_us) * 1000);
}

static void a_cause_that_crosses_a_step_bound_is_split_there(void **state)
{
	struct ops_log ops = steps_with_a_loader_across();
	struct found found;
	struct analyses all;
	struct idle_by_cause in_steps;

	assert_int_equal(analyze(&all, find(&found, &ops), ANALYSES(ANALYZE_OPS, ANALYZE_STEPS, ANALYZE_IDLE), NULL),
			 0);
	assert_int_equal(all.steps.list.items[0].median.step.number, 0);
	assert_int_equal(all.steps.list.items[0].slowest[0].step.number, 1);
	assert_idle(&all, STEP_SLOT_MEDIAN, 75, 125, 30, 0);
	assert_idle(&all, 0, 125, 22 + 200, 0, 3);
	assert_idle(&all, STEP_SLOT_OTHER, 0, 200, 0, 0);
	assert_idle(&all, STEP_SLOT_OUTSIDE, 0, 0, 13 + 35, 0);
	in_steps = idle_steps_all(&all.idle.steps, 0);
	assert_int_equal(in_steps.ns[WHY_DATA], 200000);
	assert_int_equal(in_steps.largest, WHY_PROGRAM);
	assert_int_equal(in_steps.sum_ns + (35 + 13) * 1000, all.idle.sum);
	analyses_free(&all);
	found_free(&found);
}

static void the_report_has_idle_time_of_steps_by_cause(void **state)
{
	struct ops_log ops = steps_with_a_loader_across();
	char *text = report_of(&ops);

	if (!strstr(text, "  median: 0    250.0      20.0     230.0         1  the program 54 %\n") ||
	    !strstr(text,
		    "\nGPU idle in steps by cause   % of idle time between operations, in the steps and outside of "
		    "them\n"
		    "     us     %  cause                 where\n"
		    "  547.0  66.1  the program           in steps\n"
		    "  200.0  24.2  data loading          in steps\n"
		    "   30.0   3.6  small kernels         in steps\n"
		    "    3.0   0.4  not begun by the GPU  in steps\n"
		    "   48.0   5.8  small kernels         outside of them\n"
		    "  Python, the program: launched late; what ran until then is not known without samples and waits\n"
		    "    (--cpu, --off-cpu)\n"))
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
		cmocka_unit_test(a_cause_that_crosses_a_step_bound_is_split_there),
		cmocka_unit_test(the_report_has_idle_time_of_steps_by_cause),
		cmocka_unit_test(a_trace_in_which_no_steps_were_looked_for_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
