/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Costs of source lines as a table: a row for each line that has any. */
#ifndef GPUTRACE_REPORT_SOURCE_TABLE_H
#define GPUTRACE_REPORT_SOURCE_TABLE_H

#include "analyze/sums/line_costs.h"
#include "report/table.h"

struct source_table_place {
	const struct model_code *code;
	uint32_t number; /* line number, 0: not known */
	char *text;	 /* NULL: not shown */
	uint64_t whole_ns;
	bool has_memory; /* as passed to source_table_begin */
	bool has_growth; /* of memory: steps of training are known */
};

/* has_memory: with columns for memory. */
void source_table_begin(struct table *table, bool has_memory);
void source_table_add(struct table *table, const struct source_table_place *place, const struct line_cost_row *row);

#endif
