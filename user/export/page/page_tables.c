/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of the report as JSON for a page (tables.js): what a reader sees of each cell, numbers to sort by where the
 * text does not suffice, and what columns for programs say about a row.
 */
#include "export/page/page_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"
#include "export/file/texts.h"

#define ROWS_MOST 200u

/* Columns for programs that a page shows below a row: file and line_number are one place. */
static const char *const beside[] = {"called_from", "seen", "try"};

static struct texts *files_of(const struct table_writer *writer)
{
	return writer->keeper;
}

static void begin_tables(struct table_writer *writer)
{
	fputc('[', writer->out);
}

static bool is_number(const struct column *column)
{
	return !column->is_name && column->unit != UNIT_TEXT;
}

static void begin_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	FILE *out = writer->out;
	const char *between = "";

	fputs(writer->tables ? ",\n{\"id\":" : "\n{\"id\":", out);
	put_json_string(out, section->id);
	fputs(",\"title\":", out);
	put_json_string(out, section->title);
	fputs(",\"about\":", out);
	put_json_string(out, section->about ? section->about : "");
	fputs(",\"columns\":[", out);
	for (unsigned i = 0; i < section->count; i++) {
		if (!column_is_shown(&section->columns[i]))
			continue;
		fprintf(out, "%s[", between);
		put_json_string(out, section->columns[i].title);
		fprintf(out, ",%d]", is_number(&section->columns[i]));
		between = ",";
	}
	fputs("],\"rows\":[", out);
}

/* Texts of these units have units of their own ("1.2 MB"), so they do not sort. */
static bool needs_value(enum unit unit)
{
	return unit == UNIT_BYTES || unit == UNIT_BYTES_AVG || unit == UNIT_BYTES_PER_S || unit == UNIT_NUMBER;
}

static void put_cell(FILE *out, const struct column *column, const struct cell *cell)
{
	const char *text = cell->text ? cell->text : "";

	if (cell->kind == CELL_TEXT && cell->full && strcmp(cell->full, text) != 0) {
		fputc('[', out);
		put_json_string(out, text);
		fputc(',', out);
		put_json_string(out, cell->full);
		fputc(']', out);
	} else if (cell->kind != CELL_TEXT && cell->kind != CELL_UNKNOWN && needs_value(column->unit)) {
		fputc('[', out);
		put_json_string(out, text);
		fputc(',', out);
		cell_put_number(cell, out);
		fputc(']', out);
	} else {
		put_json_string(out, text);
	}
}

/* The first column for programs of that key, which is not shown; NULL: there is none, or it is empty. */
static const struct cell *beside_of(const struct table_section *section, const struct cell *cells, const char *key)
{
	for (unsigned i = 0; i < section->count; i++) {
		const struct column *column = &section->columns[i];

		if (!column_is_shown(column) && column->key && !strcmp(column->key, key))
			return cells[i].kind == CELL_UNKNOWN ? NULL : &cells[i];
	}
	return NULL;
}

/* {"at":[file,line],"called_from":"..."} */
static void put_beside(struct table_writer *writer, const struct cell *cells)
{
	const struct table_section *section = &writer->section;
	const struct cell *file = beside_of(section, cells, "file");
	const struct cell *line = beside_of(section, cells, "line_number");
	FILE *out = writer->out;
	const char *between = "";

	fputs(",{", out);
	if (file && file->text && *file->text) {
		fprintf(out, "\"at\":[%u,%llu]", texts_id(files_of(writer), "", file->full ? file->full : file->text),
			line ? (unsigned long long)line->integer : 0ull);
		between = ",";
	}
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		const struct cell *cell = beside_of(section, cells, beside[i]);

		if (!cell || !cell->text || !*cell->text)
			continue;
		fprintf(out, "%s\"%s\":", between, beside[i]);
		put_json_string(out, cell->full ? cell->full : cell->text);
		between = ",";
	}
	fputc('}', out);
}

static void put_row(struct table_writer *writer, const struct cell *cells)
{
	const struct table_section *section = &writer->section;
	const char *between = "";

	fputs(writer->rows ? ",\n[" : "\n[", writer->out);
	for (unsigned i = 0; i < section->count; i++) {
		if (!column_is_shown(&section->columns[i]))
			continue;
		fputs(between, writer->out);
		put_cell(writer->out, &section->columns[i], &cells[i]);
		between = ",";
	}
	put_beside(writer, cells);
	fputc(']', writer->out);
}

static void end_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;

	fputs("],\"notes\":[", writer->out);
	for (size_t i = 0; i < section->notes.count; i++) {
		fputs(i ? "," : "", writer->out);
		put_json_string(writer->out, section->notes.items[i]);
	}
	fputs("]}", writer->out);
}

static void end_tables(struct table_writer *writer)
{
	fputc(']', writer->out);
}

static const struct table_format for_page = {
	.name = "page",
	.rows = ROWS_MOST,
	.is_for_people = true,
	.begin = begin_tables,
	.begin_table = begin_table,
	.put_row = put_row,
	.end_table = end_table,
	.end = end_tables,
};

typedef int tables_fn(FILE *out, struct analyses *all, const struct report_options *options);

static int put_lines(FILE *out, struct analyses *all, const struct report_options *options)
{
	return report_write_lines_of(out, all, options, &(struct lines_options){.most = PAGE_FUNCTIONS});
}

static int put_part(struct sink *out, struct analyses *all, const struct report_options *options, tables_fn *write)
{
	size_t size = 0;
	AUTO_FREE char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	int error;

	if (!file)
		return -ENOMEM;
	error = write(file, all, options);
	if (fclose(file) && !error)
		error = -ENOMEM;
	if (!error)
		sink_put(out, text, size);
	return error;
}

int page_put_tables(struct sink *out, struct analyses *all, const struct attribution *attribution)
{
	struct texts files;
	const struct report_options options = {
		.width = 400, .format = &for_page, .keeper = &files, .attribution = *attribution};
	int error;

	texts_begin(&files);
	sink_literal(out, "{\"why\":");
	error = put_part(out, all, &options, report_write_why_of);
	if (!error) {
		sink_literal(out, ",\n\"report\":");
		error = put_part(out, all, &options, report_write_of);
	}
	if (!error) {
		sink_literal(out, ",\n\"sources\":");
		error = put_part(out, all, &options, put_lines);
	}
	sink_literal(out, ",\n\"files\":[");
	for (size_t i = 0; i < files.at.count; i++) {
		sink_text(out, i ? "," : "");
		sink_json(out, texts_at(&files, (uint32_t)i));
	}
	sink_literal(out, "]}");
	texts_free(&files);
	return error;
}
