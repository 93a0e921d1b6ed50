/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the parts of the report: the page they print on, and the analyses whose rows they print. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "report/page/options.h"
#include "report/table/sections.h"
#include "report/table/table_writer.h"

struct report {
	FILE *out;
	const struct report_options *options;
	struct table_writer *writer; /* csv, json, md: gets all tables; NULL: a page */
	struct table_writer own_writer;
	struct sections *sections; /* hold what goes to out; NULL: it is written at once */
	const char *table_of;	   /* a page that leaves tables out says how to see them: "report all.gpt" */
	bool names_tables;	   /* for more rows the page sends its reader to --table */
	const char *table;	   /* the table that is printed; NULL: none, or its name is not to be said */
	bool is_one_list;	   /* a list in a format that has a single table */
	const struct model *model; /* the last part: for sums and tables, not events */
	struct analyses *all;
	unsigned width, rows; /* rows: of a table */
	bool truncates;	      /* truncates names that are wider than the page; else they stick out */
	bool color;
};

/* What follows "gputrace report" in a command that reads this trace again: " all.gpt", "" for the last trace, " FILE".
 */
char *report_file(const struct analyses *all);

/* Whether rows are wanted that people would take for more of the same. */
bool report_is_for_programs(const struct report *report);

/* Sets up a page of the requested size, or tables in the requested format. */
void report_page(struct report *report, FILE *out, struct analyses *all, const struct report_options *options);

/* Before and after printing; report_end returns 0 or -errno as report_write does. */
void report_begin(struct report *report);
int report_end(struct report *report);

/*
 * All of it: begins, has `put` write the parts, and ends.  A page of which something may be left out (report_options:
 * lines, table) is held until it is whole.  Returns as report_end, or -ENOENT: it has no table of the requested name.
 */
int report_write_page(struct report *report, void (*put)(struct report *report, void *context), void *context);

/*
 * The same for a list that was requested instead of the report: in a format with a single table (csv) it is that table
 * alone, and the receipt goes to standard error.  id: the list's table; NULL: there are several lists.
 */
void report_begin_list(struct report *report, const char *id);
void report_list_complete(struct report *report);

/* What is printed from here to the next title or section is not part of the table above; id: NULL: always printed. */
void report_section(struct report *report, const char *id);

/* The current table has that part of a whole: a short page leaves it out if that is less than 1 %. */
void report_carries(struct report *report, uint64_t part, uint64_t whole);

/* A blank line, then the title; `aside`: plain text after it, NULL: none.  id: the table's id for programs. */
void report_title(struct report *report, const char *id, const char *title, const char *remark);

/* Writes the rows of that table; frees it. */
void report_table(struct report *report, struct table *table);

/* text_put of text that the page may truncate; returns the columns written. */
unsigned report_put(const struct report *report, const char *text, unsigned columns, enum text_truncate where);

/* text_wrap at the page's width; a word that is wider may be truncated there. */
void report_wrap(const struct report *report, const char *text, unsigned column, unsigned indent);

/* One line of text, wrapped at the page's width; for programs a note on the table above. */
void report_line(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for longer text; lines after the first are indented by `indent`. */
void report_text(struct report *report, unsigned indent, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A line below a table: "... and 12 more lines"; what: one of them. */
void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit);

/* How many of `count` rows of a table are shown. */
size_t report_shown(const struct report *report, size_t count);

/* ---- cells that many tables have --------------------------------------------------------------------------------- */

/* "model.py:42 Block.forward", and for programs its file and line; NONE: "-". */
void report_add_label(struct report *report, struct table *table, const char *title, const char *key, uint32_t line);

/* For programs only the file and the line, under these keys; NONE: it has no line. */
void report_add_place(struct report *report, struct table *table, const char *file, const char *number, uint32_t line);

/*
 * For programs: the line of the user's own code that called a library's line, and user_lines, the number of such lines.
 */
void report_add_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines);

/* The same as a note below a complete row.  more: text after it; "" nothing. */
void report_note_user_line(struct report *report, struct table *table, uint32_t user_line, uint32_t user_lines,
			   const char *more);

/* "python3 41230", or "several"; NONE: no process.  A page has it if table.shows_process. */
void report_add_process(struct report *report, struct table *table, uint32_t process);

/* A line's place, its function and its process. */
void report_add_line(struct report *report, struct table *table, uint32_t line, uint32_t process);
