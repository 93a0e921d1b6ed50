/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel. */

#include "report/table/kernel_label.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_row(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	const char *full = row->part[0] == NONE ? "(name not known)" : report->model->strings[row->part[0]];
	AUTO_FREE char *label = kernel_label(full);

	table_add_ns(table, "%s", "gpu_ns", row->ns);
	table_add_share(table, row->ns);
	table_add_count(table, "calls", "calls", row->count);
	table_add_average(table, row->ns, row->count);
	table_add_named(table, "kernel", "kernel", TEXT_TRUNCATE_THIRD, label, full);
	report_add_label(report, table, "mostly launched at", "line", row->line);
}

static const struct row_table kernels = {
	.id = "kernels",
	.title = "GPU time by kernel",
	.remark = "% of GPU time",
	.add_row = add_row,
	.amount = offsetof(GROUP_ROW, ns),
	.more = "kernel",
};

void report_gpu_by_kernel(struct report *report)
{
	report_group(report, &kernels, &report->all->kernels);
}
