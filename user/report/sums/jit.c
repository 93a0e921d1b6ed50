/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines that made the driver compile. */
#include "report/parts.h"

void report_jit(struct report *report)
{
	const struct jit *jit = &report->all->jit;
	size_t shown = report_shown(report, jit->count);
	struct time_unit unit = time_unit_for(jit->count ? jit->rows[0].ns : 0);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),
		COLUMN_NUMBER("count", "count", UNIT_COUNT),
		COLUMN_NAME("what", "what", TEXT_TRUNCATE_END),
		LABEL_COLUMNS("line", "line"),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0, all_ns = 0;

	if (!jit->count)
		return;
	report_title(report, "jit", "JIT compilation by Python line",
		     "by the driver, inside the call that needed the code");
	for (size_t i = 0; i < jit->count; i++)
		all_ns += jit->rows[i].ns;
	report_carries(report, all_ns, report_ns(report));
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct jit_row *row = &jit->rows[i];

		table_add_ns(&table, row->ns, unit);
		table_add_count(&table, row->count);
		table_add(&table, jit_name(&(struct model_jit){.operation = row->operation, .entry = row->entry}));
		report_add_label(report, &table, row->line);
	}
	report_table(report, &table);
	for (size_t i = shown; i < jit->count; i++)
		rest += jit->rows[i].ns;
	report_more(report, jit->count - shown, "rows", number_time(rest), "");
}
