/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layout of a table. */
#include "report/table.h"

#include <stdlib.h>

#define GAP 2u	      /* columns between two columns */
#define NAME_LEAST 6u /* a name is not truncated below this */

void table_begin(struct table *table, const struct column *columns)
{
	*table = (struct table){.columns = columns};
	while (columns[table->count].title && table->count < TABLE_COLUMNS_MAX)
		table->count++;
}

void table_add(struct table *table, const char *text)
{
	array_push(&table->cells, xstrdup(text));
}

void table_add_number(struct table *table, struct number number)
{
	table_add(table, number.text);
}

void table_add_note(struct table *table, char *text)
{
	size_t rows = table->cells.count / table->count;

	array_push(&table->notes, ((struct table_note){rows - 1, text}));
}

static void measure(const struct table *table, unsigned widths[])
{
	for (unsigned c = 0; c < table->count; c++)
		widths[c] = text_width(table->columns[c].title);
	for (size_t i = 0; table->count && i < table->cells.count; i++) {
		unsigned width = text_width(table->cells.items[i]);

		if (width > widths[i % table->count])
			widths[i % table->count] = width;
	}
}

/* Takes columns from the widest name, one by one, until the page is wide enough. */
static void shrink(const struct table *table, unsigned widths[], unsigned width)
{
	for (;;) {
		unsigned total = 0, widest = table->count;

		for (unsigned c = 0; c < table->count; c++) {
			total += widths[c] + GAP;
			if (table->columns[c].is_name && widths[c] > NAME_LEAST &&
			    (widest == table->count || widths[c] > widths[widest]))
				widest = c;
		}
		if (total <= width || widest == table->count)
			return;
		widths[widest]--;
	}
}

static void put_row(const struct table *table, FILE *out, const unsigned widths[], const char *const cells[])
{
	unsigned count = table->count;

	while (count && !*cells[count - 1])
		count--;
	for (unsigned c = 0; c < count; c++) {
		const struct column *column = &table->columns[c];
		unsigned width = text_width(cells[c]), pad;

		pad = width < widths[c] ? widths[c] - width : 0;
		fprintf(out, "%*s", (int)GAP, "");
		if (!column->is_name)
			fprintf(out, "%*s", (int)pad, "");
		width = text_put(out, cells[c], widths[c], column->truncate);
		if (column->is_name && c + 1 < count)
			fprintf(out, "%*s", (int)(widths[c] - width), "");
	}
}

static void put_note(const struct table *table, FILE *out, const unsigned widths[], unsigned width, const char *note)
{
	unsigned indent = GAP;

	for (unsigned c = 0; c < table->count && !table->columns[c].is_name; c++)
		indent += widths[c] + GAP;
	fprintf(out, "%*s", (int)indent, "");
	text_put(out, note, width > indent ? width - indent : 1, TEXT_TRUNCATE_END);
	fputc('\n', out);
}

static void put_table(const struct table *table, FILE *out, unsigned width, bool color)
{
	unsigned widths[TABLE_COLUMNS_MAX];
	const char *titles[TABLE_COLUMNS_MAX];
	size_t note = 0;

	for (unsigned c = 0; c < table->count; c++)
		titles[c] = table->columns[c].title;
	measure(table, widths);
	shrink(table, widths, width);
	fputs(color ? "\033[2m" : "", out);
	put_row(table, out, widths, titles);
	fputs(color ? "\033[0m\n" : "\n", out);
	for (size_t i = 0, row = 0; i + table->count <= table->cells.count; i += table->count, row++) {
		put_row(table, out, widths, (const char *const *)&table->cells.items[i]);
		fputc('\n', out);
		for (; note < table->notes.count && table->notes.items[note].row == row; note++)
			put_note(table, out, widths, width, table->notes.items[note].text);
	}
}

void table_end(struct table *table, FILE *out, unsigned width, bool color)
{
	if (out)
		put_table(table, out, width, color);
	for (size_t i = 0; i < table->cells.count; i++)
		free(table->cells.items[i]);
	for (size_t i = 0; i < table->notes.count; i++)
		free(table->notes.items[i].text);
	array_free(&table->cells);
	array_free(&table->notes);
}
