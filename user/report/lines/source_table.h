/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Costs of source lines as a table: a row for each line that has any. */
#pragma once

#include "analyze/costs/line_costs.h"
#include "report/table/table.h"

struct source_table_place {
	const struct model_code *code;
	uint32_t number; /* line number, 0: not known */
	char *text;	 /* NULL: not shown */
};

/* With columns for memory and for samples where they were recorded. */
void source_table_add(struct table *table, const struct line_costs *costs, const struct source_table_place *place,
		      const struct line_cost_row *row);

/* A row of CPU time by samples that is of no line; what: whose it is. */
void source_table_add_rest(struct table *table, const struct line_costs *costs, const char *what, uint64_t sampled_ns);
