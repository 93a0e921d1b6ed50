/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for the GPU by line, and what they wait for. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *what_of_gpu(const struct report *report, const struct wait_row *row)
{
	AUTO_FREE char *place = NULL;

	switch (row->kind) {
	case GPT_AGENT_SYNC_STREAM:
		return xasprintf("stream %" PRIu32, row->stream);
	case GPT_AGENT_SYNC_CONTEXT:
		return xstrdup("all streams");
	default:
		break;
	}
	if (row->recorded_line == NONE)
		return xstrdup("an event");
	place = line_place(&report->all->lines, row->recorded_line);
	return xasprintf("event of %s", place);
}

static char *waited_for(const struct report *report, const struct wait_row *row)
{
	bool says_more = row->kind == GPT_AGENT_SYNC_STREAM || row->recorded_line != NONE;
	char *api = xstrdup(row->api ? api_name(row->api) : "");

	return *api && !says_more ? api : xjoin(api, ", ", what_of_gpu(report, row));
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct wait_row *row = item;
	AUTO_FREE char *wait = waited_for(report, row);

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_share(table, row->ns);
	table_add_count(table, "waits", "waits", row->count);
	table_add_average(table, row->ns, row->count);
	table_add_name(table, "wait", "wait", TEXT_TRUNCATE_MIDDLE, wait);
	report_add_label(report, table, "line", "line", row->line);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_add_process(report, table, row->process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

static const struct row_table table = {
	.id = "waits",
	.title = "CPU waiting for the GPU by Python line",
	.remark = "% of the time of all waits",
	.add_row = add_row,
	.amount = offsetof(struct wait_row, ns),
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
};

void report_waits(struct report *report)
{
	const struct waits *waits = &report->all->waits;

	report_rows(report, &table, &(struct row_list){ROWS(waits->rows, waits->count), .sum = waits->ns});
}
