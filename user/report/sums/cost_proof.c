/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What recording costs a step, by windows with it and without it (--prove-cost). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/steps/cost_proof.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

/* Why nothing is proven; NULL: there is a row with an interval. */
static char *unproven_text(const struct report *report, const struct cost_proof_row *row)
{
	if (report->model->schedule.is_shared)
		return xstrdup("Not proven: another gputrace recorded in the same process, so that no window was "
			       "without recording.");
	if (!row)
		return xstrdup("Not proven: no step was seen; --step says what marks steps.");
	if (isnan(row->noise_ns))
		return xasprintf("Not proven: %" PRIu64 " pairs of windows have steps in both, and it takes %u: a "
				 "longer --duration, or windows of three steps and more (--prove-cost).",
				 row->pairs, COST_PROOF_PAIRS_LEAST);
	return NULL;
}

static char *proven_text(const struct report *report, const struct cost_proof_row *row)
{
	double difference = row->recorded_ns - row->counted_ns, of = row->counted_ns / 100;
	AUTO_FREE char *cost = xasprintf("Recording costs %.2f %% of a step:", difference / of);
	const char *found = "What recording costs a step is less than the steps differ by themselves:";

	if (difference > row->noise_ns)
		found = cost;
	else if (difference < -row->noise_ns)
		found = "Steps were faster while recorded, which recording does not explain:";
	return xasprintf("%s %.2f to %.2f %% with 95 %% confidence (%s a step while "
			 "recorded, %s while only counted; %s and %s steps in %s pairs of windows of %s).",
			 found, (difference - row->noise_ns) / of, (difference + row->noise_ns) / of,
			 number_time((uint64_t)row->recorded_ns).text, number_time((uint64_t)row->counted_ns).text,
			 number_count(row->recorded_steps).text, number_count(row->counted_steps).text,
			 number_count(row->pairs).text,
			 number_time(report->model->schedule.windows_ms * (uint64_t)1000000).text);
}

static void add_percent(struct table *table, const char *title, const char *key, double ns, double whole_ns)
{
	double percent = whole_ns > 0 ? ns * 100 / whole_ns : NAN;
	struct number shown = {"-"};

	if (!isnan(percent))
		snprintf(shown.text, sizeof(shown.text), "%.2f", percent);
	table_add_value(table, title, key, UNIT_PERCENT, shown, percent);
}

static void add_length(struct table *table, const char *title, const char *key, double ns)
{
	table_add_value(table, title, key, UNIT_NS_AVG, number_time((uint64_t)ns), ns);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct cost_proof_row *row = item;

	add_percent(table, "%", "percent", row->recorded_ns - row->counted_ns, row->counted_ns);
	add_percent(table, "+-", "noise_percent", row->noise_ns, row->counted_ns);
	add_length(table, "recorded", "recorded_ns", row->recorded_ns);
	add_length(table, "counted", "counted_ns", row->counted_ns);
	table_add_count(table, "steps recorded", "recorded_steps", row->recorded_steps);
	table_add_count(table, "counted", "counted_steps", row->counted_steps);
	table_add_count(table, "pairs", "pairs", row->pairs);
	table_add_id(table, "pid", "pid", report->model->processes[row->process].pid);
}

static const struct row_table table = {
	.id = "cost_proof",
	.title = "What recording costs a step, by process",
	.remark = "+-: half the interval of 95 % confidence",
	.add_row = add_row,
};

void report_cost_proof(struct report *report)
{
	const struct cost_proof_row *row;
	struct cost_proof proof;
	AUTO_FREE char *text = NULL;

	cost_proof_make(&proof, report->model);
	row = cost_proof_main(&proof);
	text = unproven_text(report, row);
	if (!text)
		text = proven_text(report, row);
	if (!report->writer)
		fputc('\n', report->out);
	report_text(report, 2, "%s", text);
	if (proof.rows.count && (report->writer || proof.rows.count > 1))
		report_rows(report, &table, &(struct row_list){ROWS_OF(&proof.rows), .has_all = true});
	cost_proof_free(&proof);
}
