/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/tables.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_KEPT 500u /* per table */

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct kept_table *last_of(const struct table_writer *writer)
{
	const struct kept_tables *tables = writer->keeper;

	return &tables->list.items[tables->list.count - 1];
}

static void begin_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	struct kept_tables *tables = writer->keeper;
	struct kept_table kept = {.id = xstrdup(section->id), .title = xstrdup(section->title)};

	table_begin_row(&kept.table);
	for (unsigned i = 0; i < section->count; i++)
		table_add_column(&kept.table, section->columns[i]);
	array_push(&tables->list, kept);
}

static void put_row(struct table_writer *writer, const struct cell *cells)
{
	struct kept_table *kept = last_of(writer);

	for (unsigned i = 0; i < kept->table.count && kept_rows(kept) < ROWS_KEPT; i++) {
		struct cell cell = cells[i];

		cell.text = copy_text(cells[i].text);
		cell.full = copy_text(cells[i].full);
		array_push(&kept->table.cells, cell);
	}
}

static void end_table(struct table_writer *writer)
{
	struct kept_table *kept = last_of(writer);

	for (size_t i = 0; i < writer->section.notes.count; i++)
		array_push(&kept->notes, xstrdup(writer->section.notes.items[i]));
}

const struct table_format table_format_kept = {
	.name = "kept", .rows = ROWS_KEPT, .begin_table = begin_table, .put_row = put_row, .end_table = end_table};

const struct kept_table *kept_table(const struct kept_tables *tables, const char *id)
{
	return array_find(&tables->list, item, !strcmp(item->id, id) && kept_rows(item));
}

unsigned kept_column(const struct kept_table *table, const char *key)
{
	const struct column *columns = table->table.columns;

	return value_of_first(table->table.count, i, columns[i].key && !strcmp(columns[i].key, key), i,
			      TABLE_COLUMNS_MAX);
}

static void free_table(struct kept_table *kept)
{
	table_free(&kept->table);
	array_free_items(&kept->notes);
	free(kept->id);
	free(kept->title);
}

void kept_tables_free(struct kept_tables *tables)
{
	for (size_t i = 0; i < tables->list.count; i++)
		free_table(&tables->list.items[i]);
	array_free(&tables->list);
	verdict_free(&tables->verdict);
}
