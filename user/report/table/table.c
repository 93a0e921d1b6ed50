/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lays out a table on a page. */
#include "report/table/table.h"

#include <string.h>

#define GAP 2u		 /* blanks between two columns */
#define WHOLE_WIDTH 160u /* if names are not truncated, columns are aligned up to this page width */

/* Whether a page shows that column. */
static bool is_shown(const struct table *table, unsigned column)
{
	return column_is_shown(&table->columns[column]);
}

static const char *text_of(const struct cell *cell)
{
	return cell->text ? cell->text : "";
}

static void measure_columns(const struct table *table, unsigned widths[])
{
	for (unsigned c = 0; c < table->count; c++)
		widths[c] = text_width(table->columns[c].title);
	for (size_t i = 0; table->count && i < table->cells.count; i++) {
		unsigned width = text_width(text_of(&table->cells.items[i]));

		if (width > widths[i % table->count])
			widths[i % table->count] = width;
	}
}

/* The least columns of a column's names. */
static void measure_least(const struct table *table, unsigned least[])
{
	for (unsigned c = 0; c < table->count; c++)
		least[c] = text_least(table->columns[c].title, table->columns[c].truncate);
	for (size_t i = 0; table->count && i < table->cells.count; i++) {
		unsigned c = (unsigned)(i % table->count);
		unsigned width = text_least(text_of(&table->cells.items[i]), table->columns[c].truncate);

		if (width > least[c])
			least[c] = width;
	}
}

/* Takes one character at a time from the widest name column, until the table fits the page. */
static void shrink_columns(const struct table *table, unsigned widths[], unsigned width)
{
	unsigned least[TABLE_COLUMNS_MAX];

	measure_least(table, least);
	for (;;) {
		unsigned total = 0, widest = table->count;

		for (unsigned c = 0; c < table->count; c++) {
			if (!is_shown(table, c))
				continue;
			total += widths[c] + GAP;
			if (table->columns[c].is_name && widths[c] > least[c] &&
			    (widest == table->count || widths[c] > widths[widest]))
				widest = c;
		}
		if (total <= width || widest == table->count)
			return;
		widths[widest]--;
	}
}

/* A reason for a missing line starts with a bracket and matters most at its start; a path matters most at its end. */
static enum text_truncate how_truncated(const struct column *column, const char *text)
{
	return column->truncate == TEXT_TRUNCATE_START && *text == '(' ? TEXT_TRUNCATE_END : column->truncate;
}

static void put_row(const struct table *table, FILE *out, const unsigned widths[], const char *const cells[],
		    bool truncates)
{
	unsigned count = table->count;

	while (count && (!is_shown(table, count - 1) || !*cells[count - 1]))
		count--;
	for (unsigned c = 0; c < count; c++) {
		const struct column *column = &table->columns[c];
		unsigned width = text_width(cells[c]), pad;

		if (!is_shown(table, c))
			continue;
		pad = width < widths[c] ? widths[c] - width : 0;
		fprintf(out, "%*s", (int)GAP, "");
		if (!column->is_name)
			fprintf(out, "%*s", (int)pad, "");
		width = text_put(out, cells[c], widths[c], truncates ? how_truncated(column, cells[c]) : TEXT_WHOLE);
		if (column->is_name && c + 1 < count && width < widths[c])
			fprintf(out, "%*s", (int)(widths[c] - width), "");
	}
}

static void put_note(const struct table *table, FILE *out, const unsigned widths[], const struct table_look *look,
		     const char *note)
{
	enum text_truncate how = strncmp(note, "<- ", 3) ? TEXT_TRUNCATE_END : TEXT_TRUNCATE_PLACE;
	unsigned indent = GAP;

	for (unsigned c = 0; c < table->count && !table->columns[c].is_name; c++)
		indent += is_shown(table, c) ? widths[c] + GAP : 0;
	fprintf(out, "%*s", (int)indent, "");
	text_put(out, note, look->width > indent ? look->width - indent : 1, look->truncates ? how : TEXT_WHOLE);
	fputc('\n', out);
}

unsigned table_least(const struct table *table)
{
	unsigned widths[TABLE_COLUMNS_MAX], least[TABLE_COLUMNS_MAX], sum = 0;

	measure_columns(table, widths);
	measure_least(table, least);
	for (unsigned c = 0; c < table->count; c++)
		if (is_shown(table, c))
			sum += GAP + (table->columns[c].is_name && least[c] < widths[c] ? least[c] : widths[c]);
	return sum;
}

void table_put(const struct table *table, FILE *out, const struct table_look *look)
{
	unsigned widths[TABLE_COLUMNS_MAX];
	const char *texts[TABLE_COLUMNS_MAX];
	size_t note = 0;

	for (unsigned c = 0; c < table->count; c++)
		texts[c] = table->columns[c].title;
	measure_columns(table, widths);
	shrink_columns(table, widths, look->truncates || look->width > WHOLE_WIDTH ? look->width : WHOLE_WIDTH);
	fputs(look->color ? "\033[2m" : "", out);
	put_row(table, out, widths, texts, look->truncates);
	fputs(look->color ? "\033[0m\n" : "\n", out);
	for (size_t i = 0, row = 0; i < table->cells.count; i += table->count, row++) {
		for (unsigned c = 0; c < table->count; c++)
			texts[c] = text_of(&table->cells.items[i + c]);
		put_row(table, out, widths, texts, look->truncates);
		fputc('\n', out);
		for (; note < table->notes.count && table->notes.items[note].row == row; note++)
			put_note(table, out, widths, look, table->notes.items[note].text);
	}
}
