/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording left out for a while, as more came than could be kept or it cost too much. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/sums/detail_spans.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

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
	AUTO_FREE char *cost = NULL;

	if (!last)
		return;
	cost = last->tid ? cost_text(last->tid, last->measured) : xstrdup("no thread paid anything");
	report_text(report, 2, "At the end %s (--cost-limit %s %%)%s.", cost,
		    number_thousandths(last->limit / NS_OF_THOUSANDTH).text,
		    last->measured > last->limit && last->off >> GPT_DETAIL_STACKS & 1
			    ? ": launches and GPU records cost that much"
			    : "");
}

static void put_lines(struct report *report, const struct detail_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct detail_row *row = &spans->rows[i];
		AUTO_FREE char *why = why_text(row), *times = xstrdup("");

		if (row->times > 1)
			times = xjoin(times, "", xasprintf(", %s times in all", number_count(row->times).text));
		report_text(report, 2, "No %s for %s of %s, from %s on%s: %s.", kinds[row->kind].words,
			    number_time(row->ns).text, number_time(report_ns(report)).text,
			    number_time(report_after_start(report, row->first_ns)).text, times, why);
	}
}

static void add_thousandths(struct table *table, const char *title, const char *key, uint64_t ns)
{
	table_add_value(table, title, key, UNIT_PERCENT, number_thousandths(ns / NS_OF_THOUSANDTH), (double)ns / 1e7);
}

static void add_last(struct report *report, struct table *table, const void *item)
{
	const struct model_detail *last = item;

	add_thousandths(table, "%", "percent", last->measured);
	add_thousandths(table, "limit %", "limit_percent", last->limit);
	table_add_id(table, "pid", "pid", last->pid);
	table_add_id(table, "tid", "tid", last->tid);
	table_unset_last(table, 2, last->tid, "-");
}

static const struct row_table last_table = {
	.id = "cost_limit", .title = "What recording cost in the last second", .add_row = add_last};

static void add_percent(struct table *table, const char *title, const char *key, double percent)
{
	table_add_value(table, title, key, UNIT_PERCENT, number_percent(percent, 100), percent);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct detail_row *row = item;

	table_add_time(table, "left out", "ns", row->ns);
	table_add_count(table, "times", "times", row->times);
	table_add_time(table, "from", "from_ns", report_after_start(report, row->first_ns));
	add_percent(table, "%", "percent", percent_of(row, row->measured));
	add_percent(table, "limit %", "limit_percent", percent_of(row, row->limit));
	table_add_id(table, "tid", "tid", row->tid);
	table_unset_unless(table, row->why == GPT_DETAIL_COST, "-");
	table_add_name(table, "what", "detail", TEXT_WHOLE, kinds[row->kind].name);
	table_add_name(table, "why", "why_id", TEXT_WHOLE, why_name(row->why));
}

static const struct row_table table = {.id = "detail", .title = "What was left out for a while", .add_row = add_row};

void report_detail(struct report *report)
{
	const struct model_detail *last = last_cost(report->model);
	struct detail_spans spans;

	detail_spans_make(&spans, report->model, &report->all->window);
	if (report->writer) {
		report_rows(report, &table, &(struct row_list){ROWS(spans.rows, spans.count), .has_all = true});
		report_rows(report, &last_table, &(struct row_list){ROWS(last, last != NULL)});
	} else {
		put_lines(report, &spans);
		put_last_cost(report);
	}
}
