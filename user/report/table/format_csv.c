/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables as CSV (RFC 4180, lines end in a newline).  A single table: names of columns and rows; its notes go to
 * standard error.  Several tables: each is preceded by a record of its id and title, an empty line separates them, and
 * all notes are the last table, "notes".
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "report/table/table_writer.h"

/* A spreadsheet takes a cell that begins so for a formula, quoted or not; a name may come from a target. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

static void put_text(FILE *out, const char *text)
{
	if (!is_formula(text) && !text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	fputs(is_formula(text) ? "\"'" : "\"", out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_names(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	const char *between = "";

	for (unsigned i = 0; i < section->count; i++) {
		if (!section->columns[i].key)
			continue;
		fprintf(writer->out, "%s%s", between, section->columns[i].key);
		between = ",";
	}
	fputs(section->count ? "\n" : "", writer->out);
}

static void put_title(struct table_writer *writer, const char *id, const char *title)
{
	fputs(writer->tables ? "\n" : "", writer->out);
	put_text(writer->out, id);
	fputc(',', writer->out);
	put_text(writer->out, title);
	fputc('\n', writer->out);
}

static void begin_table(struct table_writer *writer)
{
	if (!writer->only)
		put_title(writer, writer->section.id, writer->section.title);
	if (!writer->only || !writer->tables)
		put_names(writer);
}

static void put_row(struct table_writer *writer, const struct cell *cells)
{
	const char *between = "";

	for (unsigned i = 0; i < writer->section.count; i++) {
		const struct cell *cell = &cells[i];

		if (!writer->section.columns[i].key)
			continue;
		fputs(between, writer->out);
		if (cell->kind == CELL_TEXT)
			put_text(writer->out, cell->full ? cell->full : cell->text);
		else if (cell->kind != CELL_UNKNOWN)
			cell_put_number(cell, writer->out);
		between = ",";
	}
	fputc('\n', writer->out);
}

/* Keeps notes as records until the end; those of a single table are messages. */
static void end_table(struct table_writer *writer)
{
	for (size_t i = 0; i < writer->section.notes.count; i++) {
		if (writer->only) {
			msg_info("%s", writer->section.notes.items[i]);
			continue;
		}
		array_push(&writer->kept_notes, xstrdup(writer->section.id));
		array_push(&writer->kept_notes, xstrdup(writer->section.notes.items[i]));
	}
}

static void end_tables(struct table_writer *writer)
{
	if (writer->kept_notes.count) {
		put_title(writer, "notes", "Notes");
		fputs("table,note\n", writer->out);
	}
	for (size_t i = 0; i < writer->kept_notes.count; i++) {
		put_text(writer->out, writer->kept_notes.items[i]);
		fputc(i % 2 ? '\n' : ',', writer->out);
		free(writer->kept_notes.items[i]);
	}
	array_free(&writer->kept_notes);
}

const struct table_format table_format_csv = {
	.name = "csv",
	.rows = UINT_MAX,
	.is_one_table = true,
	.begin_table = begin_table,
	.put_row = put_row,
	.end_table = end_table,
	.end = end_tables,
};
