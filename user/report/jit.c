/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which lines made the driver compile: a program without code for this GPU pays for it at its first launches. */
#include <stdlib.h>

#include "report/parts.h"

static void put_table(struct report *report, const struct tally_entry *sorted, size_t count)
{
	struct time_unit unit = time_unit_for(sorted[0].ns);
	const struct column columns[] = {
		{unit.name, false, 0},
		{"count", false, 0},
		{"what", true, TEXT_TRUNCATE_END},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	size_t shown = count < report->rows ? count : report->rows;
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < count; i++) {
		const uint32_t *part = sorted[i].key.part;
		char *line;

		if (i >= shown) {
			rest += sorted[i].ns;
			continue;
		}
		line = line_label(&report->all->lines, part[0]);
		table_add_number(&table, number_in(sorted[i].ns, unit));
		table_add_number(&table, number_count(sorted[i].count));
		table_add(&table,
			  jit_name(&(struct model_jit){.operation = (uint8_t)part[1], .entry = (uint8_t)part[2]}));
		table_add(&table, line);
		free(line);
	}
	table_end(&table, report->out, report->width, report->color);
	report_more(report, count - shown, "rows", number_time(rest), "");
}

void report_jit(struct report *report)
{
	const struct model *model = report->model;
	struct tally sums = {0}; /* line, operation, entry */
	struct tally_entry *sorted;

	for (uint32_t i = 0; i < model->jit_count; i++) {
		const struct model_jit *jit = &model->jits[i];
		uint32_t line = line_of_index(report, jit->call);
		struct tally_entry *sum = tally_at(&sums, (struct tally_key){{line, jit->operation, jit->entry}});

		sum->ns += jit->end_ns - jit->start_ns;
		sum->count++;
	}
	if (sums.count) {
		sorted = tally_sorted(&sums, false);
		report_title(report, "JIT compilation by Python line",
			     "by the driver, inside the call that needed the code");
		put_table(report, sorted, sums.count);
		free(sorted);
	}
	tally_free(&sums);
}
