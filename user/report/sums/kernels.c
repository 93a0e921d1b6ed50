/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel. */

#include "report/table/kernel_label.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_name(struct report *report, struct table *table, const void *row)
{
	uint32_t name = ((const GROUP_ROW *)row)->part[0];
	const char *full = name == NONE ? "(name not known)" : report->model->strings[name];
	AUTO_FREE char *label = kernel_label(full);

	table_add_named(table, label, full);
}

static const struct row_table kernels = {
	.id = "kernels",
	.title = "GPU time by kernel",
	.remark = "% of GPU time",
	.more = "kernel",
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "gpu_ns", GROUP_ROW, ns),
			ROW_PERCENT(GROUP_ROW, ns),
			ROW_COUNT("calls", "calls", GROUP_ROW, count),
			ROW_AVERAGE(GROUP_ROW, ns, count),
			ROW_ADD(COLUMN_NAME("kernel", "kernel", TEXT_TRUNCATE_THIRD), add_name),
			ROW_LABEL("mostly launched at", "line", GROUP_ROW, line),
			ROW_END,
		},
};

void report_gpu_by_kernel(struct report *report)
{
	report_group(report, &kernels, &report->all->kernels);
}
