/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collectives of torch.distributed and NCCL: bytes, rate, and calling lines. */
#include <stdlib.h>

#include "model/collectives.h"
#include "report/parts.h"

/* The larger of a rank's input and output. */
static double bytes_of(const struct collective *collective)
{
	int64_t in = collective->numbers[GPT_COLLECTIVE_IN_ELEMENTS];
	int64_t out = collective->numbers[GPT_COLLECTIVE_OUT_ELEMENTS];

	return (double)(in > out ? in : out) * collective_element_bytes(collective);
}

static void add_row(struct report *report, struct table *table, const struct collective_row *row, struct time_unit unit)
{
	struct collective collective;
	bool is_known = collective_read(&collective, report->model->strings[row->params]);
	double bytes = is_known ? bytes_of(&collective) : 0;

	table_add_ns(table, row->ns, unit);
	table_add_count(table, row->count);
	table_add_average(table, row->ns, row->count);
	if (bytes < 0)
		table_add_unknown(table, "-");
	else
		table_add_bytes(table, (uint64_t)bytes);
	table_add_rate(table, bytes * (double)row->count, bytes > 0 ? row->ns : 0);
	table_add(table, is_known ? collective_dtype(&collective) : "?");
	if (is_known && collective.numbers[GPT_COLLECTIVE_GROUP_SIZE] > 0)
		table_add_count(table, (uint64_t)collective.numbers[GPT_COLLECTIVE_GROUP_SIZE]);
	else
		table_add_unknown(table, "-");
	table_add(table, is_known ? collective.fields[GPT_COLLECTIVE_GROUP] : "?");
	table_add(table, is_known ? collective.fields[GPT_COLLECTIVE_NAME] : "?");
	report_add_label(report, table, row->line);
}

void report_collectives(struct report *report)
{
	const struct collective_sums *sums = &report->all->collectives;
	size_t shown = report_shown(report, sums->count);
	struct time_unit unit = time_unit_for(sums->count ? sums->rows[0].ns : 0);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "gpu_ns", UNIT_NS),
		COLUMN_NUMBER("kernels", "kernels", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES),
		COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S),
		COLUMN_NAME("dtype", "dtype", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("ranks", "ranks", UNIT_COUNT),
		COLUMN_NAME("group", "group", TEXT_TRUNCATE_END),
		COLUMN_NAME("collective", "collective", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("mostly from", "line"),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!sums->count)
		return;
	report_title(report, "collectives", "GPU time by collective",
		     "of torch.distributed and NCCL; bytes: of one, in or out of this rank, GB/s: of these");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_row(report, &table, &sums->rows[i], unit);
	report_table(report, &table);
	for (size_t i = shown; i < sums->count; i++)
		rest += sums->rows[i].ns;
	report_more(report, sums->count - shown, "collectives", number_time(rest), "");
}
