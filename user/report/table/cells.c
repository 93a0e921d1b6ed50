/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cells of tables: the text shown and the value. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/table/table.h"
#include "report/table/table_writer.h"

void table_begin_row(struct table *table)
{
	table->is_made = table->count;
}

void table_add_column(struct table *table, struct column column)
{
	const char *title = column.title ? column.title : COLUMN_NOT_SHOWN, *in = strstr(title, "%s");

	if (table->is_made || table->count == TABLE_COLUMNS_MAX)
		return;
	if (!table->made)
		table->columns = table->made = xcalloc(TABLE_COLUMNS_MAX + 1, sizeof(*table->made));
	array_push(&table->titles,
		   in ? xasprintf("%.*s%s%s", (int)(in - title), title, table->unit.name, in + 2) : xstrdup(title));
	column.title = table->titles.items[table->count];
	table->made[table->count++] = column;
}

static void add_cell(struct table *table, struct column column, struct cell cell)
{
	table_add_column(table, column);
	array_push(&table->cells, cell);
}

void table_add_name(struct table *table, const char *title, const char *key, enum text_truncate truncate,
		    const char *text)
{
	add_cell(table, (struct column)COLUMN_NAME(title, key, truncate),
		 (struct cell){.text = xstrdup(text ? text : "-"), .kind = text ? CELL_TEXT : CELL_UNKNOWN});
}

void table_add_named(struct table *table, const char *title, const char *key, enum text_truncate truncate,
		     const char *text, const char *full)
{
	add_cell(table, (struct column)COLUMN_NAME(title, key, truncate),
		 (struct cell){.text = xstrdup(text), .full = xstrdup(full), .kind = CELL_TEXT});
}

void table_add_integer(struct table *table, const char *title, const char *key, enum unit unit, struct number shown,
		       uint64_t value)
{
	add_cell(table, (struct column)COLUMN_NUMBER(title, key, unit),
		 (struct cell){.text = xstrdup(shown.text), .integer = value, .kind = CELL_INTEGER});
}

void table_add_value(struct table *table, const char *title, const char *key, enum unit unit, struct number shown,
		     double value)
{
	add_cell(table, (struct column)COLUMN_NUMBER(title, key, unit),
		 (struct cell){.text = xstrdup(shown.text),
			       .number = value,
			       .kind = isfinite(value) ? CELL_NUMBER : CELL_UNKNOWN});
}

void table_add_signed(struct table *table, const char *title, const char *key, enum unit unit, int64_t value)
{
	add_cell(table, (struct column)COLUMN_NUMBER(title, key, unit),
		 (struct cell){.text = xasprintf("%" PRId64, value), .integer = (uint64_t)value, .kind = CELL_SIGNED});
}

void table_add_shown(struct table *table, const char *title, struct number shown)
{
	table_add_value(table, title, NULL, UNIT_TEXT, shown, NAN);
}

void table_add_data(struct table *table, const char *key, enum unit unit, uint64_t value)
{
	table_add_integer(table, NULL, key, unit, (struct number){""}, value);
}

void table_add_word(struct table *table, const char *key, const char *text)
{
	table_add_name(table, NULL, key, TEXT_TRUNCATE_END, text);
}

void table_add_id(struct table *table, const char *title, const char *key, uint64_t id)
{
	struct number shown;

	snprintf(shown.text, sizeof(shown.text), "%" PRIu64, id);
	table_add_integer(table, title, key, UNIT_ID, shown, id);
}

void table_add_count(struct table *table, const char *title, const char *key, uint64_t count)
{
	table_add_integer(table, title, key, UNIT_COUNT, number_count(count), count);
}

void table_add_bytes(struct table *table, const char *title, const char *key, uint64_t bytes)
{
	table_add_integer(table, title, key, UNIT_BYTES, number_bytes(bytes), bytes);
}

void table_add_memory(struct table *table, const char *title, const char *key, uint64_t bytes)
{
	table_add_integer(table, title, key, UNIT_BYTES, number_memory(bytes), bytes);
}

void table_add_growth(struct table *table, const char *title, const char *key, double bytes)
{
	struct number shown = {"-"};

	if (bytes >= 1)
		snprintf(shown.text, sizeof(shown.text), "+%.30s", number_memory((uint64_t)bytes).text);
	table_add_value(table, title, key, UNIT_BYTES_AVG, shown, bytes);
}

void table_add_ns(struct table *table, const char *title, const char *key, uint64_t ns)
{
	table_add_integer(table, title, key, UNIT_NS, number_in(ns, table->unit), ns);
}

void table_add_time(struct table *table, const char *title, const char *key, uint64_t ns)
{
	table_add_integer(table, title, key, UNIT_NS, number_time(ns), ns);
}

void table_add_percent(struct table *table, const char *title, const char *key, double part, double whole)
{
	table_add_value(table, title, key, UNIT_PERCENT, number_percent(part, whole),
			whole > 0 ? 100 * part / whole : NAN);
}

void table_add_share(struct table *table, uint64_t part)
{
	table_add_percent(table, "%", "percent", (double)part, table->whole);
}

void table_add_average(struct table *table, uint64_t ns, uint64_t count)
{
	table_add_value(table, "avg us", "avg_ns", UNIT_NS_AVG,
			number_tenths(count ? (double)ns / 1e3 / (double)count : -1),
			count ? (double)ns / (double)count : NAN);
}

void table_add_rate(struct table *table, double bytes, uint64_t ns)
{
	table_add_value(table, "GB/s", "bytes_per_s", UNIT_BYTES_PER_S, number_tenths(ns ? bytes / (double)ns : -1),
			ns ? bytes / (double)ns * 1e9 : NAN);
}

static void free_cell(struct cell *cell)
{
	free(cell->text);
	free(cell->full);
}

void table_unset_cell(struct table *table, size_t cell, const char *shown)
{
	free_cell(&table->cells.items[cell]);
	table->cells.items[cell] = (struct cell){.text = xstrdup(shown), .kind = CELL_UNKNOWN};
}

void table_unset_last(struct table *table, unsigned cells, bool are_known, const char *shown)
{
	for (size_t i = table->cells.count - cells; !are_known && i < table->cells.count; i++)
		table_unset_cell(table, i, shown);
}

void table_unset_unless(struct table *table, bool is_known, const char *shown)
{
	table_unset_last(table, 1, is_known, shown);
}

void table_add_note(struct table *table, char *text)
{
	size_t rows = table->cells.count / table->count;

	array_push(&table->notes, ((struct table_note){rows - 1, text}));
}

void table_drop_rows(struct table *table)
{
	array_each (cell, &table->cells)
		free_cell(cell);
	array_each (note, &table->notes)
		free(note->text);
	array_free(&table->cells);
	array_free(&table->notes);
}

void table_free(struct table *table)
{
	table_drop_rows(table);
	array_free_items(&table->titles);
	free(table->made);
}

static const struct {
	const char *type, *name;
} units[] = {
	[UNIT_TEXT] = {"string", NULL},		[UNIT_ID] = {"integer", NULL},
	[UNIT_COUNT] = {"integer", "count"},	[UNIT_COUNT_AVG] = {"number", "count"},
	[UNIT_NS] = {"integer", "ns"},		[UNIT_NS_AVG] = {"number", "ns"},
	[UNIT_BYTES] = {"integer", "bytes"},	[UNIT_BYTES_AVG] = {"number", "bytes"},
	[UNIT_PERCENT] = {"number", "percent"}, [UNIT_BYTES_PER_S] = {"number", "bytes_per_s"},
	[UNIT_NUMBER] = {"number", NULL},
};

const char *unit_type(enum unit unit)
{
	return units[unit].type;
}

const char *unit_name(enum unit unit)
{
	return units[unit].name;
}

void cell_put_number(const struct cell *cell, FILE *out)
{
	if (cell->kind == CELL_INTEGER)
		fprintf(out, "%" PRIu64, cell->integer);
	else if (cell->kind == CELL_SIGNED)
		fprintf(out, "%" PRId64, (int64_t)cell->integer);
	else
		fprintf(out, "%.10g", cell->number);
}
