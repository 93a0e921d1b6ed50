/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Titles, lines of text, and cells that many tables use. */
#include "report/page/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void report_section(struct report *report, const char *id)
{
	report->table = NULL;
	if (!report->sections)
		return;
	fclose(report->out);
	report->out = sections_begin(report->sections, id);
}

void report_carries(struct report *report, uint64_t part, uint64_t whole)
{
	if (report->sections)
		sections_carry(report->sections, part, whole);
}

void report_title(struct report *report, const char *id, const char *title, const char *remark)
{
	unsigned used;

	if (report->writer) {
		table_writer_title(report->writer, id, title, remark);
		return;
	}
	report_section(report, id);
	report->table = report->names_tables ? id : NULL;
	fputc('\n', report->out);
	fputs(report->color ? "\033[1m" : "", report->out);
	used = report_put(report, title, report->width, TEXT_TRUNCATE_END);
	fputs(report->color ? "\033[0m" : "", report->out);
	if (remark && (!report->truncates || used + 3 < report->width)) {
		fputs("   ", report->out);
		report_put(report, remark, report->width - used - 3, TEXT_TRUNCATE_END);
	}
	fputc('\n', report->out);
}

unsigned report_put(const struct report *report, const char *text, unsigned columns, enum text_truncate where)
{
	return text_put(report->out, text, columns, report->truncates ? where : TEXT_WHOLE);
}

void report_wrap(const struct report *report, const char *text, unsigned column, unsigned indent)
{
	text_wrap(report->out, text, column, indent, report->width,
		  report->truncates ? TEXT_TRUNCATE_MIDDLE : TEXT_WHOLE);
}

void report_table(struct report *report, struct table *table)
{
	if (report->writer) {
		table_writer_put(report->writer, table);
		return;
	}
	table_put(table, report->out, &(struct table_look){report->width, report->truncates, report->color});
	table_free(table);
}

/* Text wider than the page continues below, indented further. */
static void put_wrapped(struct report *report, const char *text)
{
	unsigned indent = (unsigned)strspn(text, " ");

	if (text_width(text) <= report->width) {
		text_put(report->out, text, report->width, TEXT_WHOLE);
		fputc('\n', report->out);
		return;
	}
	fprintf(report->out, "%*s", (int)indent, "");
	report_wrap(report, text + indent, indent, indent + 2);
}

char *report_file(const struct analyses *all)
{
	const char *file = all->file ? all->file : "FILE";

	return xasprintf("%s%s", *file ? " " : "", file);
}

bool report_is_for_programs(const struct report *report)
{
	return report->writer && !report->writer->format->is_for_people;
}

void report_line(struct report *report, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	if (report->writer) {
		table_writer_note(report->writer, text);
	} else {
		put_wrapped(report, text);
	}
}

void report_text(struct report *report, unsigned indent, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	if (report->writer)
		table_writer_note(report->writer, text);
	else
		report_wrap(report, text, 0, indent);
}

void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit)
{
	if (count)
		report_line(report, "  ... and %s more %s%s, %s%s%s%s%s", number_count(count).text, what,
			    count == 1 ? "" : "s", sum.text, *unit ? " " : "", unit, report->table ? ": --table " : "",
			    report->table ? report->table : "");
}

size_t report_shown(const struct report *report, size_t count)
{
	return count < report->rows ? count : report->rows;
}

void report_note_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines,
			   const char *more)
{
	AUTO_FREE char *user = user_line == NONE ? xstrdup("") : line_label(&report->all->lines, user_line);
	char others[32] = "";

	if (user_lines > 1)
		snprintf(others, sizeof(others), " (and %u more)", user_lines - 1);
	if (*user || *more)
		table_add_note(table, xasprintf("<- %s%s%s%s", user, others, *user && *more ? ", " : "", more));
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* A row without a Python line has an unknown place. */
void report_add_place(struct report *report, struct table *table, const char *file, const char *number, uint32_t line)
{
	const struct line *place = line == NONE ? NULL : &report->all->lines.all.items[line];
	bool is_known = place && !place->reason;

	table_add_word(table, file, is_known ? place->file : NULL);
	table_add_id(table, NULL, number, is_known ? line_shown(place) : 0);
	table_unset_unless(table, is_known && line_shown(place), "");
}

void report_add_label(struct report *report, struct table *table, const char *title, const char *key, uint32_t line)
{
	AUTO_FREE char *label = line == NONE ? NULL : line_label(&report->all->lines, line);

	table_add_name(table, title, key, TEXT_TRUNCATE_PLACE, label);
	report_add_place(report, table, "file", "line_number", line);
}

void report_add_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines)
{
	AUTO_FREE char *user = user_line == NONE ? NULL : line_label(&report->all->lines, user_line);

	table_add_word(table, "called_from", user);
	table_add_data(table, "callers", UNIT_COUNT, user_lines);
}

void report_add_process(struct report *report, struct table *table, uint32_t process)
{
	AUTO_FREE char *text = process == NONE		 ? xstrdup("")
			       : process == PROCESS_MANY ? xstrdup("several")
							 : process_label(&report->model->processes[process]);

	table_add_name(table, table->shows_process ? "process" : NULL, "process", TEXT_TRUNCATE_MIDDLE, text);
	table_unset_unless(table, process != NONE, "");
}

void report_add_line(struct report *report, struct table *table, uint32_t line, uint32_t process)
{
	AUTO_FREE char *place = line == NONE ? NULL : line_place(&report->all->lines, line);

	table_add_name(table, "line", "line", TEXT_TRUNCATE_PLACE, place);
	table_add_name(table, "function", "function", TEXT_TRUNCATE_MIDDLE,
		       place ? line_function(&report->all->lines, line) : NULL);
	report_add_process(report, table, process);
	report_add_place(report, table, "file", "line_number", line);
}
