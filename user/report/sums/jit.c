/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines that made the driver compile. */
#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_row(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	struct model_jit jit = {.operation = (uint8_t)row->part[0], .entry = (uint8_t)row->part[1]};

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_count(table, "count", "count", row->count);
	table_add_name(table, "what", "what", TEXT_TRUNCATE_END, jit_name(&jit));
	report_add_label(report, table, "line", "line", row->line);
}

static const struct row_table jit = {
	.id = "jit",
	.title = "JIT compilation by Python line",
	.remark = "by the driver, inside the call that needed the code",
	.add_row = add_row,
	.amount = offsetof(GROUP_ROW, ns),
	.unit_of_first = true,
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
};

void report_jit(struct report *report)
{
	report_group(report, &jit, &report->all->jit);
}
