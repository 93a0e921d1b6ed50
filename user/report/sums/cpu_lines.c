/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time by Python line. */
#include <stdio.h>

#include "report/parts.h"

static void add_native(struct report *report, struct table *table, uint32_t string)
{
	if (string == NONE)
		table_add_unknown(table, "-");
	else
		table_add(table, report->model->strings[string]);
}

void report_cpu_lines(struct report *report)
{
	struct cpu_lines *cpu = &report->all->cpu_lines;
	size_t shown = report_shown(report, cpu->sums.count);
	struct time_unit unit = time_unit_for(cpu->sums.sum);
	char self[16], total[16], *note;
	const struct column columns[] = {
		COLUMN_NUMBER(self, "self_ns", UNIT_NS),
		COLUMN_NUMBER(total, "total_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_DATA("samples", UNIT_COUNT),
		COLUMN_NUMBER("threads", "threads", UNIT_COUNT),
		LABEL_COLUMNS("line", "line"),
		COLUMN_NAME("mostly in", "native", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME(cpu->process == PROCESS_MANY ? "process" : COLUMN_NOT_SHOWN, "process",
			    TEXT_TRUNCATE_MIDDLE),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!cpu->sums.count)
		return;
	snprintf(self, sizeof(self), "self %s", unit.name);
	snprintf(total, sizeof(total), "total %s", unit.name);
	note = xasprintf("%s samples; %s %% in the kernel", number_count(cpu->samples).text,
			 number_percent((double)cpu->kernel_ns, (double)cpu->sums.sum).text);
	report_title(report, "cpu_lines", "CPU time by Python line", note);
	report_carries(report, cpu->sums.sum, report_ns(report));
	free(note);
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct line_row *row = &cpu->sums.rows[i];

		table_add_ns(&table, row->self, unit);
		table_add_ns(&table, row->total, unit);
		table_add_percent(&table, (double)row->self, (double)cpu->sums.sum);
		table_add_count(&table, row->launches);
		table_add_count(&table, cpu_line_threads(cpu, row->line));
		report_add_label(report, &table, row->line);
		add_native(report, &table, cpu_line_native(cpu, row->line));
		report_add_process(report, &table, row->process);
	}
	report_table(report, &table);
	for (size_t i = shown; i < cpu->sums.count; i++)
		rest += cpu->sums.rows[i].self;
	report_more(report, cpu->sums.count - shown, "lines", number_in(rest, unit), unit.name);
}
