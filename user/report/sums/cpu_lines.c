/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time by Python line. */
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct line_row *row = item;
	struct cpu_lines *cpu = &report->all->cpu_lines;
	uint32_t native = cpu_line_native(cpu, row->line);

	table_add_ns(table, "self %s", "self_ns", row->self);
	table_add_ns(table, "total %s", "total_ns", row->total);
	table_add_share(table, row->self);
	table_add_count(table, NULL, "samples", row->launches);
	table_add_count(table, "threads", "threads", cpu_line_threads(cpu, row->line));
	report_add_label(report, table, "line", "line", row->line);
	table_add_name(table, "mostly in", "native", TEXT_TRUNCATE_MIDDLE,
		       native == NONE ? NULL : report->model->strings[native]);
	report_add_process(report, table, row->process);
}

static const struct row_table table = {
	.id = "cpu_lines",
	.title = "CPU time by Python line",
	.add_row = add_row,
	.amount = offsetof(struct line_row, self),
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "line",
};

void report_cpu_lines(struct report *report)
{
	const struct cpu_lines *cpu = &report->all->cpu_lines;
	AUTO_FREE char *remark = xasprintf("%s sample%s; %s %% in the kernel", number_count(cpu->samples).text,
					   cpu->samples == 1 ? "" : "s",
					   number_percent((double)cpu->kernel_ns, (double)cpu->sums.sum).text);

	report_rows(report, &table,
		    &(struct row_list){ROWS(cpu->sums.rows, cpu->sums.count), .sum = cpu->sums.sum, .remark = remark,
				       .process = cpu->process == PROCESS_MANY ? ROW_PROCESS_SHOWN
									       : ROW_PROCESS_NOT_SHOWN});
}
