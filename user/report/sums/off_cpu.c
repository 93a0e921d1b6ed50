/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits off the CPU by line, with reason and waker. */

#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *waker_text(const struct report *report, uint32_t waker)
{
	if (waker == OFF_CPU_WAKER_INTERRUPT)
		return xstrdup("(an interrupt)");
	if (waker == OFF_CPU_WAKER_UNKNOWN)
		return xstrdup("-");
	if (waker & OFF_CPU_WAKER_NAME)
		return xasprintf("(%s)", report->all->off_cpu.names.items[waker & ~OFF_CPU_WAKER_NAME].text);
	return line_label(&report->all->lines, waker);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	AUTO_FREE char *waker = waker_text(report, row->part[1]);

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_share(table, row->ns);
	table_add_count(table, "waits", "waits", row->count);
	table_add_average(table, row->ns, row->count);
	table_add_name(table, "for", "reason", TEXT_TRUNCATE_END, off_cpu_reason(row->part[0]));
	report_add_label(report, table, "line", "line", row->line);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	table_add_name(table, "woken by", "waker", TEXT_TRUNCATE_MIDDLE, waker);
	report_add_process(report, table, row->process);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

static const struct row_table table = {
	.id = "off_cpu",
	.title = "Waits off the CPU by Python line",
	.remark = "% of the time of all waits that were recorded",
	.add_row = add_row,
	.amount = offsetof(GROUP_ROW, ns),
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
};

void report_off_cpu(struct report *report)
{
	const struct off_cpu *off = &report->all->off_cpu;

	report_rows(report, &table,
		    &(struct row_list){ROWS(off->rows, off->count), .sum = off->ns,
				       .process = off->process == PROCESS_MANY ? ROW_PROCESS_SHOWN
									       : ROW_PROCESS_NOT_SHOWN});
}
