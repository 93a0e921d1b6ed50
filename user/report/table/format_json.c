/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables as JSON: one document; each row is an object on a line of its own (docs/tables.schema.json). */
#include <limits.h>
#include <string.h>

#include "base/safe_text.h"
#include "report/table/table_writer.h"

static void begin_tables(struct table_writer *writer)
{
	fprintf(writer->out, "{\"schema\": \"%s\", \"version\": %d, \"generator\": ", TABLES_SCHEMA,
		TABLES_SCHEMA_VERSION);
	put_json_string(writer->out, "gputrace " GPUTRACE_VERSION);
	fputs(", \"tables\": [", writer->out);
}

static void begin_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	FILE *out = writer->out;
	const char *between = "";

	fputs(writer->tables ? ",\n{\"id\": " : "\n{\"id\": ", out);
	put_json_string(out, section->id);
	fputs(", \"title\": ", out);
	put_json_string(out, section->title);
	fputs(", \"about\": ", out);
	put_json_string(out, section->about);
	fputs(",\n \"columns\": [", out);
	for (unsigned i = 0; i < section->count; i++) {
		const struct column *column = &section->columns[i];

		if (!column->key)
			continue;
		fprintf(out, "%s{\"name\": \"%s\", \"type\": \"%s\", \"unit\": ", between, column->key,
			unit_type(column->unit));
		put_json_string(out, unit_name(column->unit));
		fputc('}', out);
		between = ", ";
	}
	fputs("],\n \"rows\": [", out);
}

static void put_value(const struct cell *cell, FILE *out)
{
	if (cell->kind == CELL_UNKNOWN)
		fputs("null", out);
	else if (cell->kind == CELL_TEXT)
		put_json_string(out, cell->full ? cell->full : cell->text);
	else
		cell_put_number(cell, out);
}

static void put_row(struct table_writer *writer, const struct cell *cells)
{
	const struct table_section *section = &writer->section;
	const char *between = "";

	fputs(writer->rows ? ",\n  {" : "\n  {", writer->out);
	for (unsigned i = 0; i < section->count; i++) {
		if (!section->columns[i].key)
			continue;
		fprintf(writer->out, "%s\"%s\": ", between, section->columns[i].key);
		put_value(&cells[i], writer->out);
		between = ", ";
	}
	fputc('}', writer->out);
}

static void end_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;

	fputs("],\n \"notes\": [", writer->out);
	for (size_t i = 0; i < section->notes.count; i++) {
		fputs(i ? ", " : "", writer->out);
		put_json_string(writer->out, section->notes.items[i]);
	}
	fputs("]}", writer->out);
}

static void end_tables(struct table_writer *writer)
{
	fputs("\n]}\n", writer->out);
}

const struct table_format table_format_json = {
	.name = "json",
	.rows = UINT_MAX,
	.begin = begin_tables,
	.begin_table = begin_table,
	.put_row = put_row,
	.end_table = end_table,
	.end = end_tables,
};
