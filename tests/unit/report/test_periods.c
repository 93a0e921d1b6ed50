/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report --every: the table of periods, and which change between two of them is named. */
#include "gap_log.h"
#include "steps_log.h"

#include "report/table/table_writer.h"
#include "report/why/periods.h"
#include "whole_trace.h"

#define HOUR 3600000000000ull

/* The page of rows that the caller has filled in, and the whole of a trace with one GPU that was busy for 80 of 180 ms.
 */
static char *page_of(struct periods *periods)
{
	struct log_builder log;
	struct model *model;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	begin(&log);
	kernel(&log, 1, 5 * MS, 6 * MS, FROM);
	kernel(&log, 2, LAUNCHED, TO, TO + 76 * MS);
	log_end(&log, 180 * MS);
	model = model_of(&log);
	periods->start_ns = model->start_ns;
	assert_int_equal(report_write_periods(out, WHOLE_TRACE(model), periods, &(struct report_options){.width = 100}),
			 0);
	fclose(out);
	model_free(model);
	periods_free(periods);
	return text;
}

static void add_hour(struct periods *periods, uint64_t busy_percent, uint64_t steps, uint64_t median_ms)
{
	uint64_t hour = periods->list.count;
	const struct period period = {
		.from_ns = 1000 + hour * HOUR,
		.to_ns = 1000 + (hour + 1) * HOUR,
		.timed_ns = HOUR,
		.busy_ns = HOUR / 100 * busy_percent,
		.steps = steps,
		.median_ns = median_ms * MS,
		.p99_ns = median_ms * MS,
	};

	array_push(&periods->list, period);
}

static void assert_page(struct periods *periods, const char *has, const char *has_not)
{
	char *page = page_of(periods);

	if (has && !strstr(page, has))
		fail_msg("'%s' is not in:%s", has, page);
	if (has_not && strstr(page, has_not))
		fail_msg("'%s' is in:%s", has_not, page);
	free(page);
}

static void the_last_row_is_the_whole_trace_as_the_account_has_it(void **state)
{
	struct periods periods = {0};

	assert_page(&periods, "  all     44.4    52.9         2 ", "steps  ");
}

static void the_largest_loss_says_how_much_its_cause_has(void **state)
{
	struct periods periods = {0};
	struct gap gap;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, 10 * MS, 70 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 70 * MS, LAUNCHED));
	end_gap(&gap);
	periods.start_ns = gap.model->start_ns;
	assert_int_equal(report_write_periods(out, WHOLE_TRACE(gap.model), &periods,
					      &(struct report_options){.format = &table_format_json}),
			 0);
	fclose(out);
	if (!strstr(text, "\"loss\": \"Python (30.0 ms of it no CPU): train.py:32 train\", \"cause\": \"ran\", "
			  "\"loss_ns\": 89990000") ||
	    !strstr(text, "\"cause_ns\": 60000000"))
		fail_msg("%s", text);
	free(text);
	periods_free(&periods);
	end_words(&gap);
}

static void the_largest_change_is_named_if_it_is_a_tenth(void **state)
{
	struct periods busy = {0}, steps = {0}, small = {0};

	add_hour(&busy, 90, 0, 0);
	add_hour(&busy, 84, 0, 0);
	add_hour(&busy, 51, 0, 0);
	add_hour(&busy, 60, 0, 0);
	assert_page(&busy, "Largest change of busy time: at 2:00:00, 84.0 % before, then 51.0 %", "of steps");
	add_hour(&steps, 90, 10, 100);
	add_hour(&steps, 89, 10, 112);
	add_hour(&steps, 88, 10, 110);
	assert_page(&steps, "Largest change of steps: at 1:00:00, median 100.0 ms before, then 112.0 ms",
		    "of busy time");
	add_hour(&small, 90, 10, 100);
	add_hour(&small, 81, 10, 109);
	assert_page(&small, "1:00:00", "Largest change");
}

static void the_median_step_is_that_of_the_steps_and_of_few_there_is_no_p99(void **state)
{
	struct ops_log ops = {0};
	struct periods periods = {0};
	struct found found;
	struct trace *trace;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	begin(&ops.log);
	kernel(&ops.log, 1, 102 * US, 110 * US, 120 * US);
	kernel(&ops.log, 2, 160 * US, 170 * US, 180 * US);
	log_batch(&ops.log, PID, TID, 900 * MS);
	log_agent_op_name(&ops.log, ADAM, "Optimizer.step#Adam.step");
	add_op(&ops, ADAM, 99, 100); /* steps of 50 and 100 us follow */
	add_op(&ops, ADAM, 149, 150);
	add_op(&ops, ADAM, 249, 250);
	trace = find(&found, &ops);
	periods.start_ns = found.model->start_ns;
	assert_int_equal(report_write(out, trace, &(struct report_options){.width = 100}), 0);
	assert_int_equal(report_write_periods(out, trace, &periods, &(struct report_options){.width = 100}), 0);
	fclose(out);
	assert_int_equal(periods.whole.steps, 2);
	assert_int_equal(periods.whole.median_ns, 50 * US);
	if (!strstr(text, "  median: 1     50.0 ") || !strstr(text, "  steps   median  p99  largest %") ||
	    !strstr(text, "      2  50.0 us       "))
		fail_msg("%s", text);
	free(text);
	periods_free(&periods);
	found_free(&found);
}

static void a_period_without_steps_is_compared_with_none(void **state)
{
	struct periods periods = {0};

	add_hour(&periods, 50, 10, 100);
	add_hour(&periods, 50, 0, 0);
	add_hour(&periods, 50, 10, 300);
	assert_page(&periods, NULL, "Largest change");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_row_is_the_whole_trace_as_the_account_has_it),
		cmocka_unit_test(the_largest_loss_says_how_much_its_cause_has),
		cmocka_unit_test(the_largest_change_is_named_if_it_is_a_tenth),
		cmocka_unit_test(the_median_step_is_that_of_the_steps_and_of_few_there_is_no_p99),
		cmocka_unit_test(a_period_without_steps_is_compared_with_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
