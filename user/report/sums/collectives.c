/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collectives of torch.distributed and NCCL: bytes, rate, and calling lines. */

#include "model/collectives.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

/* What the parameters of a collective say: the columns from its bytes to its name. */
static void add_parameters(struct report *report, struct table *table, const void *item)
{
	const GROUP_ROW *row = item;
	struct collective collective;
	bool is_known = collective_read(&collective, report->model->strings[row->part[0]]);
	double bytes = is_known ? (double)collective_bytes(&collective) : 0;

	table_add_bytes(table, bytes < 0 ? 0 : (uint64_t)bytes);
	table_unset_unless(table, bytes >= 0, "-");
	table_add_rate(table, bytes * (double)row->count, bytes > 0 ? row->ns : 0);
	table_add(table, is_known ? collective_dtype(&collective) : "?");
	if (is_known && collective.numbers[GPT_COLLECTIVE_GROUP_SIZE] > 0)
		table_add_count(table, (uint64_t)collective.numbers[GPT_COLLECTIVE_GROUP_SIZE]);
	else
		table_add_unknown(table, "-");
	table_add(table, is_known ? collective.fields[GPT_COLLECTIVE_GROUP] : "?");
	table_add(table, is_known ? collective.fields[GPT_COLLECTIVE_NAME] : "?");
}

static const struct row_table collectives = {
	.id = "collectives",
	.title = "GPU time by collective",
	.remark = "of torch.distributed and NCCL; bytes: of one, in or out of this rank, GB/s: of these",
	.unit_of_first = true,
	.more = "collective",
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "gpu_ns", GROUP_ROW, ns),
			ROW_COUNT("kernels", "kernels", GROUP_ROW, count),
			ROW_AVERAGE(GROUP_ROW, ns, count),
			ROW_ADD(COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES), add_parameters),
			ROW_ADD(COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S), NULL),
			ROW_ADD(COLUMN_NAME("dtype", "dtype", TEXT_TRUNCATE_END), NULL),
			ROW_ADD(COLUMN_NUMBER("ranks", "ranks", UNIT_COUNT), NULL),
			ROW_ADD(COLUMN_NAME("group", "group", TEXT_TRUNCATE_END), NULL),
			ROW_ADD(COLUMN_NAME("collective", "collective", TEXT_TRUNCATE_END), NULL),
			ROW_LABEL("mostly from", "line", GROUP_ROW, line),
			ROW_END,
		},
};

void report_collectives(struct report *report)
{
	report_group(report, &collectives, &report->all->collectives.group);
}
