/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps the tables of a report as values: a format of table_writer.h that writes nothing.
 *
 *	struct report_options options = {.format = &table_format_kept, .keeper = &tables};
 *	report_write(nowhere, trace, &options);
 */
#pragma once

#include "base/array.h"
#include "report/table/table_writer.h"
#include "report/why/verdict.h"

struct kept_table {
	char *id, *title;
	struct table table;  /* without notes */
	ARRAY(char *) notes; /* sentences about the table */
};

struct kept_tables {
	ARRAY(struct kept_table) list;
	struct verdict verdict; /* that of the report, where it was asked for */
};

extern const struct table_format table_format_kept;

/* The table with that id; NULL: there is none, or it has no rows. */
const struct kept_table *kept_table(const struct kept_tables *tables, const char *id);
void kept_tables_free(struct kept_tables *tables);

/* The index of the column with that key; TABLE_COLUMNS_MAX: none. */
unsigned kept_column(const struct kept_table *table, const char *key);

static inline size_t kept_rows(const struct kept_table *table)
{
	return table->table.count ? table->table.cells.count / table->table.count : 0;
}

static inline const struct cell *kept_cell(const struct kept_table *table, size_t row, unsigned column)
{
	return &table->table.cells.items[row * table->table.count + column];
}
