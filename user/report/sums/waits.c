/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for the GPU by line, and what they wait for. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

static char *what_of_gpu(struct report *report, const struct wait_row *row)
{
	char *place, *text;

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
	text = xasprintf("event of %s", place);
	free(place);
	return text;
}

static char *waited_for(struct report *report, const struct wait_row *row)
{
	bool says_more = row->kind == GPT_AGENT_SYNC_STREAM || row->recorded_line != NONE;
	char *what, *both;

	if (row->api && !says_more)
		return xstrdup(api_name(row->api));
	what = what_of_gpu(report, row);
	if (!row->api)
		return what;
	both = xasprintf("%s, %s", api_name(row->api), what);
	free(what);
	return both;
}

void report_waits(struct report *report)
{
	const struct waits *waits = &report->all->waits;
	size_t shown = report_shown(report, waits->count);
	struct time_unit unit = time_unit_for(waits->ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("waits", "waits", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NAME("wait", "wait", TEXT_TRUNCATE_MIDDLE),
		LABEL_COLUMNS("line", "line"),
		USER_LINE_COLUMNS,
		PROCESS_COLUMN(report),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!waits->count)
		return;
	report_title(report, "waits", "CPU waiting for the GPU by Python line", "% of the time of all waits");
	report_carries(report, waits->ns, report_ns(report));
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct wait_row *row = &waits->rows[i];
		char *what = waited_for(report, row);

		table_add_ns(&table, row->ns, unit);
		table_add_percent(&table, (double)row->ns, (double)waits->ns);
		table_add_count(&table, row->count);
		table_add_average(&table, row->ns, row->count);
		table_add(&table, what);
		report_add_label(report, &table, row->line);
		report_add_user_line(report, &table, row->user_line, row->user_lines);
		report_add_process(report, &table, row->process);
		report_note_user_line(report, &table, row->user_line, row->user_lines, "");
		free(what);
	}
	report_table(report, &table);
	for (size_t i = shown; i < waits->count; i++)
		rest += waits->rows[i].ns;
	report_more(report, waits->count - shown, "kinds of waits", number_in(rest, unit), unit.name);
}
