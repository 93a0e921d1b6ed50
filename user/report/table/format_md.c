/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables as GitHub's Markdown, short enough to paste into an issue: the first rows of the tables that matter, as a page
 * shows them; of a table without rows only what is said about it.  Names cannot become markup, links or mentions: they
 * are code, or escaped.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table/table_writer.h"

#define ROWS 5u
#define NAME_WIDTH 72u

/* Writes characters that could be markup as entities, which have no meaning (GFM 6.2). */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>#|~&@$", *text) || (*text == ':' && text[1] == '/'))
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

/* A backslash would unescape the bar after it, a backtick would end the code. */
static void put_code(FILE *out, const char *text)
{
	if (!*text)
		return;
	if (strpbrk(text, "\\`")) {
		put_escaped(out, text);
		return;
	}
	fputc('`', out);
	for (; *text; text++) {
		fputs(*text == '|' ? "\\" : "", out);
		fputc(*text, out);
	}
	fputc('`', out);
}

/* Truncates as a page does, to one line; the caller frees it. */
static char *cut_text(const char *text, enum text_truncate truncate)
{
	char *cut = NULL;
	size_t size;
	FILE *out = open_memstream(&cut, &size);

	if (!out)
		abort();
	text_put(out, text, NAME_WIDTH, truncate);
	fclose(out);
	return cut;
}

static void put_title(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	FILE *out = writer->out;

	fputs(writer->tables > 1 ? "\n**" : "**", out);
	put_escaped(out, section->title);
	fputs("**", out);
	if (section->about) {
		fputs(" (", out);
		put_escaped(out, section->about);
		fputc(')', out);
	}
	fputc('\n', out);
}

static void put_columns(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;
	FILE *out = writer->out;

	fputs("\n|", out);
	for (unsigned i = 0; i < section->count; i++)
		if (column_is_shown(&section->columns[i])) {
			fputc(' ', out);
			put_escaped(out, section->columns[i].title);
			fputs(" |", out);
		}
	fputs("\n|", out);
	for (unsigned i = 0; i < section->count; i++)
		if (column_is_shown(&section->columns[i]))
			fputs(section->columns[i].is_name ? "---|" : "--:|", out);
	fputc('\n', out);
}

static void put_row(struct table_writer *writer, const struct cell *cells)
{
	if (writer->rows >= ROWS && !writer->section.is_whole)
		return;
	if (!writer->rows) {
		put_title(writer);
		put_columns(writer);
	}
	fputc('|', writer->out);
	for (unsigned i = 0; i < writer->section.count; i++) {
		const struct column *column = &writer->section.columns[i];
		AUTO_FREE char *text = NULL;

		if (!column_is_shown(column))
			continue;
		text = cut_text(cells[i].text ? cells[i].text : "", column->truncate);
		fputc(' ', writer->out);
		if (column->is_name)
			put_code(writer->out, text);
		else
			put_escaped(writer->out, text);
		fputs(" |", writer->out);
	}
	fputc('\n', writer->out);
}

static void end_table(struct table_writer *writer)
{
	const struct table_section *section = &writer->section;

	if (!writer->rows && (section->notes.count || writer->only))
		put_title(writer);
	if (!writer->rows && writer->only && section->count)
		put_columns(writer);
	fputs(section->notes.count ? "\n" : "", writer->out);
	for (size_t i = 0; i < section->notes.count; i++) {
		fputs("- ", writer->out);
		put_escaped(writer->out, section->notes.items[i]);
		fputc('\n', writer->out);
	}
}

const struct table_format table_format_md = {
	.name = "md",
	.rows = ROWS,
	.is_for_people = true,
	.is_brief = true,
	.put_row = put_row,
	.end_table = end_table,
};
