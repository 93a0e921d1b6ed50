/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel. */
#include <stdlib.h>

#include "report/kernel_label.h"
#include "report/parts.h"

void report_gpu_by_kernel(struct report *report)
{
	const struct kernels *kernels = &report->all->kernels;
	size_t shown = report_shown(report, kernels->count);
	struct time_unit unit = time_unit_for(kernels->gpu_ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "gpu_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NAME("kernel", "kernel", TEXT_TRUNCATE_THIRD),
		LABEL_COLUMNS("mostly launched at", "line"),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!kernels->count)
		return;
	report_title(report, "kernels", "GPU time by kernel", "% of GPU time");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct kernel_row *row = &kernels->rows[i];
		const char *full = row->name == NONE ? "(name not known)" : report->model->strings[row->name];
		char *label = kernel_label(full);

		table_add_ns(&table, row->ns, unit);
		table_add_percent(&table, (double)row->ns, (double)kernels->gpu_ns);
		table_add_count(&table, row->count);
		table_add_average(&table, row->ns, row->count);
		table_add_named(&table, label, full);
		report_add_label(report, &table, row->line);
		free(label);
	}
	report_table(report, &table);
	for (size_t i = shown; i < kernels->count; i++)
		rest += kernels->rows[i].ns;
	report_more(report, kernels->count - shown, "kernels", number_in(rest, unit), unit.name);
}
