/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits off the CPU by line, with reason and waker. */
#include <stdlib.h>

#include "report/parts.h"

static char *waker_label(const struct report *report, uint32_t waker)
{
	if (waker == OFF_CPU_WAKER_INTERRUPT)
		return xstrdup("(an interrupt)");
	if (waker == OFF_CPU_WAKER_UNKNOWN)
		return xstrdup("-");
	if (waker & OFF_CPU_WAKER_NAME)
		return xasprintf("(%s)", report->all->off_cpu.names.items[waker & ~OFF_CPU_WAKER_NAME].text);
	return line_label(&report->all->lines, waker);
}

void report_off_cpu(struct report *report)
{
	const struct off_cpu *off = &report->all->off_cpu;
	size_t shown = report_shown(report, off->count);
	struct time_unit unit = time_unit_for(off->ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("waits", "waits", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NAME("for", "reason", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		USER_LINE_COLUMNS,
		COLUMN_NAME("woken by", "waker", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME(off->process == PROCESS_MANY ? "process" : COLUMN_NOT_SHOWN, "process",
			    TEXT_TRUNCATE_MIDDLE),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!off->count)
		return;
	report_title(report, "off_cpu", "Waits off the CPU by Python line",
		     "% of the time of all waits that were recorded");
	report_carries(report, off->ns, report_ns(report));
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct off_cpu_row *row = &off->rows[i];
		char *waker = waker_label(report, row->waker);

		table_add_ns(&table, row->ns, unit);
		table_add_percent(&table, (double)row->ns, (double)off->ns);
		table_add_count(&table, row->count);
		table_add_average(&table, row->ns, row->count);
		table_add(&table, off_cpu_reason(row->reason));
		report_add_label(report, &table, row->line);
		report_add_user_line(report, &table, row->user_line, row->user_lines);
		table_add(&table, waker);
		report_add_process(report, &table, row->process);
		report_note_user_line(report, &table, row->user_line, row->user_lines, "");
		free(waker);
	}
	report_table(report, &table);
	for (size_t i = shown; i < off->count; i++)
		rest += off->rows[i].ns;
	report_more(report, off->count - shown, "rows", number_in(rest, unit), unit.name);
}
