/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the report share: the page they print on, and the analyses whose rows they print. */
#ifndef GPUTRACE_REPORT_PAGE_H
#define GPUTRACE_REPORT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "report/report.h"
#include "report/table_writer.h"

struct report {
	FILE *out;
	const struct report_options *options;
	struct table_writer *writer; /* csv, json, md: all tables go there; NULL: the page */
	struct table_writer own_writer;
	bool is_one_list;	   /* a list in a format of one table */
	const struct model *model; /* the last part: sums and tables, not events */
	struct analyses *all;
	unsigned width, rows; /* rows: of a table */
	bool truncates;	      /* what is wider than the page; else it sticks out */
	bool color;
};

/* A page as wide and long as was asked for, or tables in the format that was. */
void report_page(struct report *report, FILE *out, struct analyses *all, const struct report_options *options);

/* Around what is printed on it; the end returns 0 or -errno as report_write. */
void report_begin(struct report *report);
int report_end(struct report *report);

/* The same for a list that was asked for instead of the report: in a format of one table (csv) it is that table alone,
 * and the receipt goes to standard error.  id: the list's table; NULL: there are several lists. */
void report_begin_list(struct report *report, const char *id);
void report_list_complete(struct report *report);

/* A blank line, then the title; `aside` is plain text after it, NULL: none.  id: of the table, for programs. */
void report_title(struct report *report, const char *id, const char *title, const char *aside);

/* The rows of that table; frees it. */
void report_table(struct report *report, struct table *table);

/* text_put of what the page may truncate; returns the columns it took. */
unsigned report_put(const struct report *report, const char *text, unsigned columns, enum text_truncate where);

/* text_wrap at the page's width; a word that is wider may be truncated there. */
void report_wrap(const struct report *report, const char *text, unsigned column, unsigned indent);

/* One line of text, broken at the page's width; for programs a note of the table above. */
void report_line(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same broken into lines; those after the first are indented by `indent`. */
void report_text(struct report *report, unsigned indent, const char *text);

/* "12 more" and such below a table. */
void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit);

/* How many of that many rows of a table are shown. */
size_t report_shown(const struct report *report, size_t count);

/* The cell "model.py:42 Block.forward", and for programs its file and line; NONE: "-". */
#define LABEL_COLUMNS(title, key)                                                                                      \
	COLUMN_NAME(title, key, TEXT_TRUNCATE_MIDDLE), COLUMN_DATA("file", UNIT_TEXT),                                 \
		COLUMN_DATA("line_number", UNIT_ID)
void report_add_label(struct report *report, struct table *table, uint32_t line);

/* The code of the user's own from which a library's line was called, user_lines of them: two columns of data. */
#define USER_LINE_COLUMNS COLUMN_DATA("called_from", UNIT_TEXT), COLUMN_DATA("callers", UNIT_COUNT)
void report_add_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines);

/* The same as a note below a row that is whole.  more: what it says besides; "" nothing. */
void report_note_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines,
			   const char *more);

/* Those two columns of a label alone, of a cell that says more than a line; NONE: it has none. */
void report_add_place(struct report *report, struct table *table, uint32_t line);

/* Whose a row is, shown where there are several processes: "python3 41230", or "several"; NONE: of no one. */
#define PROCESS_COLUMN(report)                                                                                         \
	COLUMN_NAME((report)->all->active > 1 ? "process" : COLUMN_NOT_SHOWN, "process", TEXT_TRUNCATE_MIDDLE)
void report_add_process(struct report *report, struct table *table, uint32_t process);

/* The columns of a line, for a table that ends in them: where it is, its function, and whose it is. */
#define LINE_COLUMNS(report)                                                                                           \
	COLUMN_NAME("line", "line", TEXT_TRUNCATE_START), COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE),   \
		PROCESS_COLUMN(report), COLUMN_DATA("file", UNIT_TEXT), COLUMN_DATA("line_number", UNIT_ID)
void report_add_line(struct report *report, struct table *table, uint32_t line, uint32_t process);

#endif
