/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording left out for a while, as more came than could be kept or it cost too much. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/sums/detail_spans.h"
#include "report/page/parts.h"

static const struct {
	const char *name, *words;
} kinds[GPT_DETAIL_COUNT] = {
#define KIND(detail, number, name, words) [number] = {#name, words},
	GPT_DETAILS(KIND)
#undef KIND
};

static const char *why_name(enum gpt_detail_why why)
{
	static const char *const names[GPT_DETAIL_WHYS] = {
		[GPT_DETAIL_RING] = "ring", [GPT_DETAIL_COST] = "cost", [GPT_DETAIL_MEMORY] = "memory"};

	return names[why];
}

/* Of the ring buffer, of a thread's second, of the memory that gputrace may have. */
static double percent_of(const struct detail_row *row, uint64_t value)
{
	double whole = row->why == GPT_DETAIL_COST ? 1e9 : (double)row->limit;

	return whole > 0 ? (double)value * 100 / whole : 0;
}

#define NS_OF_THOUSANDTH 10000u /* of a percent of a second */

/* "recording cost thread 7 1.83 % of a second" */
static char *cost_text(uint32_t tid, uint64_t ns)
{
	return xasprintf("recording cost thread %" PRIu32 " %s %% of a second", tid,
			 number_thousandths(ns / NS_OF_THOUSANDTH).text);
}

static char *why_text(const struct detail_row *row)
{
	if (row->why == GPT_DETAIL_COST)
		return xjoin(cost_text(row->tid, row->measured), "",
			     xasprintf(", above --cost-limit %s %%",
				       number_thousandths(row->limit / NS_OF_THOUSANDTH).text));
	if (row->why == GPT_DETAIL_MEMORY)
		return xasprintf("gputrace had %s of the %s of --memory-limit", number_bytes(row->measured).text,
				 number_bytes(row->limit).text);
	return xasprintf("the ring buffer was %s %% full", number_percent(percent_of(row, row->measured), 100).text);
}

/* What recording cost in the end, with a limit: the last second of the whole recording. NULL: not known. */
static const struct model_detail *last_cost(const struct model *model)
{
	const struct model_detail *last = model->detail_count ? &model->details[model->detail_count - 1] : NULL;

	return last && last->is_last && last->why == GPT_DETAIL_COST && !model->slice ? last : NULL;
}

static void put_last_cost(struct report *report)
{
	const struct model_detail *last = last_cost(report->model);
	char *cost;

	if (!last)
		return;
	cost = last->tid ? cost_text(last->tid, last->measured) : xstrdup("no thread paid anything");
	report_text(report, 2, "At the end %s (--cost-limit %s %%)%s.", cost,
		    number_thousandths(last->limit / NS_OF_THOUSANDTH).text,
		    last->measured > last->limit && last->off >> GPT_DETAIL_STACKS & 1
			    ? ": launches and GPU records cost that much"
			    : "");
	free(cost);
}

static void put_lines(struct report *report, const struct detail_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct detail_row *row = &spans->rows[i];
		char *why = why_text(row), *times = xstrdup("");

		if (row->times > 1)
			times = xjoin(times, "", xasprintf(", %s times in all", number_count(row->times).text));
		report_text(report, 2, "No %s for %s of %s, from %s on%s: %s.", kinds[row->kind].words,
			    number_time(row->ns).text, number_time(report_ns(report)).text,
			    number_time(report_after_start(report, row->first_ns)).text, times, why);
		free(why);
		free(times);
	}
}

static void put_last_cost_table(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("limit %", "limit_percent", UNIT_PERCENT),
		COLUMN_NUMBER("pid", "pid", UNIT_ID),
		COLUMN_NUMBER("tid", "tid", UNIT_ID),
		COLUMN_END,
	};
	const struct model_detail *last = last_cost(report->model);
	struct table table;

	if (!last)
		return;
	report_title(report, "cost_limit", "What recording cost in the last second", NULL);
	table_begin(&table, columns);
	table_add_value(&table, number_thousandths(last->measured / NS_OF_THOUSANDTH), (double)last->measured / 1e7);
	table_add_value(&table, number_thousandths(last->limit / NS_OF_THOUSANDTH), (double)last->limit / 1e7);
	table_add_id(&table, last->pid);
	table_unset_unless(&table, last->tid, "-");
	table_add_id(&table, last->tid);
	table_unset_unless(&table, last->tid, "-");
	report_table(report, &table);
}

static void put_table(struct report *report, const struct detail_spans *spans)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("left out", "ns", UNIT_NS),
		COLUMN_NUMBER("times", "times", UNIT_COUNT),
		COLUMN_NUMBER("from", "from_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("limit %", "limit_percent", UNIT_PERCENT),
		COLUMN_NUMBER("tid", "tid", UNIT_ID),
		COLUMN_NAME("what", "detail", TEXT_WHOLE),
		COLUMN_NAME("why", "why_id", TEXT_WHOLE),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "detail", "What was left out for a while", NULL);
	table_begin(&table, columns);
	for (size_t i = 0; i < spans->count; i++) {
		const struct detail_row *row = &spans->rows[i];
		bool of_thread = row->why == GPT_DETAIL_COST;
		double percent = percent_of(row, row->measured), limit = percent_of(row, row->limit);

		table_add_time(&table, row->ns);
		table_add_count(&table, row->times);
		table_add_time(&table, report_after_start(report, row->first_ns));
		table_add_value(&table, number_percent(percent, 100), percent);
		table_add_value(&table, number_percent(limit, 100), limit);
		table_add_id(&table, row->tid);
		table_unset_unless(&table, of_thread, "-");
		table_add(&table, kinds[row->kind].name);
		table_add(&table, why_name(row->why));
	}
	report_table(report, &table);
}

void report_detail(struct report *report)
{
	struct detail_spans spans;

	detail_spans_make(&spans, report->model, &report->all->window);
	if (report->writer) {
		if (spans.count)
			put_table(report, &spans);
		put_last_cost_table(report);
	} else {
		put_lines(report, &spans);
		put_last_cost(report);
	}
}
