/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the report share: the page they print on, and the analyses whose rows they print. */
#ifndef GPUTRACE_REPORT_PAGE_H
#define GPUTRACE_REPORT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "report/report.h"
#include "report/table.h"

struct report {
	FILE *out;
	const struct model *model; /* the last part: sums and tables, not events */
	struct analyses *all;
	unsigned width, rows; /* rows: of a table */
	bool color;
};

/* A page as wide and long as was asked for. */
void report_page(struct report *report, FILE *out, struct analyses *all, const struct report_options *options);

/* 0 or -errno: it was not written. */
int report_flush(const struct report *report);

/* A blank line, then the title; `aside` is plain text behind it, NULL: none. */
void report_title(struct report *report, const char *title, const char *aside);

/* One line of text, truncated at the page's width. */
void report_line(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text broken into lines; those after the first are indented by `indent`. */
void report_text(struct report *report, unsigned indent, const char *text);

/* "12 more" and such below a table. */
void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit);

/* Rows of a table that are shown of so many. */
size_t report_shown(const struct report *report, size_t count);

/* The cell "model.py:42 Block.forward". */
void report_add_label(struct report *report, struct table *table, uint32_t line);

/* The columns of a line, for a table that ends in them: where it is, its function and, where there are several
 * processes, whose it is: "python3 41230", or "several".  Rows of a table have no more than these. */
#define LINE_COLUMNS(report)                                                                                           \
	{"line", true, TEXT_TRUNCATE_START}, {"function", true, TEXT_TRUNCATE_MIDDLE},                                 \
		{(report)->all->active > 1 ? "process" : NULL, true, TEXT_TRUNCATE_MIDDLE},                            \
	{                                                                                                              \
		NULL, false, 0                                                                                         \
	}
void report_add_line(struct report *report, struct table *table, uint32_t line, uint32_t process);

#endif
