/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cells of tables: the text shown and the value. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/table/table.h"
#include "report/table/table_writer.h"

void table_begin(struct table *table, const struct column *columns)
{
	*table = (struct table){.columns = columns};
	while (columns[table->count].title && table->count < TABLE_COLUMNS_MAX)
		table->count++;
}

void table_add(struct table *table, const char *text)
{
	array_push(&table->cells, ((struct cell){.text = xstrdup(text), .kind = CELL_TEXT}));
}

void table_add_named(struct table *table, const char *text, const char *full)
{
	array_push(&table->cells, ((struct cell){.text = xstrdup(text), .full = xstrdup(full), .kind = CELL_TEXT}));
}

void table_add_integer(struct table *table, struct number shown, uint64_t value)
{
	array_push(&table->cells, ((struct cell){.text = xstrdup(shown.text), .integer = value, .kind = CELL_INTEGER}));
}

void table_add_value(struct table *table, struct number shown, double value)
{
	array_push(&table->cells, ((struct cell){.text = xstrdup(shown.text),
						 .number = value,
						 .kind = isfinite(value) ? CELL_NUMBER : CELL_UNKNOWN}));
}

void table_add_unknown(struct table *table, const char *shown)
{
	array_push(&table->cells, ((struct cell){.text = xstrdup(shown), .kind = CELL_UNKNOWN}));
}

void table_add_unknowns(struct table *table, unsigned count, const char *shown)
{
	while (count--)
		table_add_unknown(table, shown);
}

void table_add_text(struct table *table, const char *text, const char *unknown)
{
	table_add(table, text ? text : unknown);
	table_unset_unless(table, text, unknown);
}

void table_unset_unless(struct table *table, bool is_known, const char *shown)
{
	struct cell *cell = &table->cells.items[table->cells.count - 1];

	if (is_known)
		return;
	free(cell->text);
	free(cell->full);
	*cell = (struct cell){.text = xstrdup(shown), .kind = CELL_UNKNOWN};
}

void table_add_number(struct table *table, struct number number)
{
	table_add_unknown(table, number.text);
}

void table_add_data(struct table *table, uint64_t value)
{
	table_add_integer(table, (struct number){""}, value);
}

void table_add_id(struct table *table, uint64_t id)
{
	struct number shown;

	snprintf(shown.text, sizeof(shown.text), "%" PRIu64, id);
	table_add_integer(table, shown, id);
}

void table_add_signed(struct table *table, int64_t value)
{
	array_push(
		&table->cells,
		((struct cell){.text = xasprintf("%" PRId64, value), .integer = (uint64_t)value, .kind = CELL_SIGNED}));
}

void table_add_count(struct table *table, uint64_t count)
{
	table_add_integer(table, number_count(count), count);
}

void table_add_bytes(struct table *table, uint64_t bytes)
{
	table_add_integer(table, number_bytes(bytes), bytes);
}

void table_add_memory(struct table *table, uint64_t bytes)
{
	table_add_integer(table, number_memory(bytes), bytes);
}

void table_add_growth(struct table *table, double bytes)
{
	struct number shown = {"-"};

	if (bytes >= 1)
		snprintf(shown.text, sizeof(shown.text), "+%.30s", number_memory((uint64_t)bytes).text);
	table_add_value(table, shown, bytes);
}

void table_add_ns(struct table *table, uint64_t ns, struct time_unit unit)
{
	table_add_integer(table, number_in(ns, unit), ns);
}

void table_add_time(struct table *table, uint64_t ns)
{
	table_add_integer(table, number_time(ns), ns);
}

void table_add_average(struct table *table, uint64_t ns, uint64_t count)
{
	table_add_value(table, number_tenths(count ? (double)ns / 1e3 / (double)count : -1),
			count ? (double)ns / (double)count : NAN);
}

void table_add_percent(struct table *table, double part, double whole)
{
	table_add_value(table, number_percent(part, whole), whole > 0 ? 100 * part / whole : NAN);
}

void table_add_rate(struct table *table, double bytes, uint64_t ns)
{
	table_add_value(table, number_tenths(ns ? bytes / (double)ns : -1), ns ? bytes / (double)ns * 1e9 : NAN);
}

void table_add_note(struct table *table, char *text)
{
	size_t rows = table->cells.count / table->count;

	array_push(&table->notes, ((struct table_note){rows - 1, text}));
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->cells.count; i++) {
		free(table->cells.items[i].text);
		free(table->cells.items[i].full);
	}
	for (size_t i = 0; i < table->notes.count; i++)
		free(table->notes.items[i].text);
	array_free(&table->cells);
	array_free(&table->notes);
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
