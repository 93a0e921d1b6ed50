/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collectives of torch.distributed and NCCL: bytes, rate, and calling lines. */

#include "model/collectives.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_row(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	struct collective collective;
	bool is_known = collective_read(&collective, report->model->strings[row->part[0]]);
	double bytes = is_known ? (double)collective_bytes(&collective) : 0;
	int64_t ranks = is_known ? collective.numbers[GPT_COLLECTIVE_GROUP_SIZE] : 0;

	table_add_ns(table, "%s", "gpu_ns", row->ns);
	table_add_count(table, "kernels", "kernels", row->count);
	table_add_average(table, row->ns, row->count);
	table_add_bytes(table, "bytes", "bytes", bytes < 0 ? 0 : (uint64_t)bytes);
	table_unset_unless(table, bytes >= 0, "-");
	table_add_rate(table, bytes * (double)row->count, bytes > 0 ? row->ns : 0);
	table_add_name(table, "dtype", "dtype", TEXT_TRUNCATE_END, is_known ? collective_dtype(&collective) : "?");
	table_add_count(table, "ranks", "ranks", (uint64_t)ranks);
	table_unset_unless(table, ranks > 0, "-");
	table_add_name(table, "group", "group", TEXT_TRUNCATE_END,
		       is_known ? collective.fields[GPT_COLLECTIVE_GROUP] : "?");
	table_add_name(table, "collective", "collective", TEXT_TRUNCATE_END,
		       is_known ? collective.fields[GPT_COLLECTIVE_NAME] : "?");
	report_add_label(report, table, "mostly from", "line", row->line);
}

static const struct row_table collectives = {
	.id = "collectives",
	.title = "GPU time by collective",
	.remark = "of torch.distributed and NCCL; bytes: of one, in or out of this rank, GB/s: of these",
	.add_row = add_row,
	.amount = offsetof(GROUP_ROW, ns),
	.unit_of_first = true,
	.more = "collective",
};

void report_collectives(struct report *report)
{
	report_group(report, &collectives, &report->all->collectives.group);
}
