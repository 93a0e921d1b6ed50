/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables by declaration: each column says which member of a row it shows, and how.
 *
 *	static const struct row_table table = {
 *		.id = "kernels",
 *		.title = "GPU time by kernel",
 *		.columns = (const struct row_column[]){ROW_NS("%s", "gpu_ns", GROUP_ROW, ns), ROW_END},
 *	};
 *	report_group(report, &table, &report->all->kernels);
 */
#pragma once

#include <stddef.h>

#include "report/page/page.h"

struct row_column {
	struct column column; /* "%s" in its title is the table's unit of time */
	enum row_cell {
		ROW_CELL_NS, /* in the table's unit; this and the next ones are uint64_t */
		ROW_CELL_COUNT,
		ROW_CELL_PERCENT, /* of row_list.sum */
		ROW_CELL_AVERAGE, /* of `other` */
		ROW_CELL_TEXT,
		ROW_CELL_ADD,
		ROW_CELL_LABEL,	    /* uint32_t: a line, with columns for its file and number */
		ROW_CELL_USER_LINE, /* uint32_t: user_line; other: user_lines; also a note below the row */
		ROW_CELL_PROCESS,   /* uint32_t */
		ROW_CELL_LINE,	    /* uint32_t: a line; other: its process; the last columns of a table */
	} cell;
	size_t at, other;					     /* offsets in the row */
	char *(*text)(const struct report *report, const void *row); /* returns a text to be freed; NULL: not known */
	void (*add)(struct report *report, struct table *table, const void *row);
};

#define ROW_NUMBER(title, key, unit, kind, type, member)                                                               \
	ROW_OF(.column = COLUMN_NUMBER(title, key, unit), .cell = kind, .at = offsetof(type, member))
#define ROW_NS(title, key, type, member) ROW_NUMBER(title, key, UNIT_NS, ROW_CELL_NS, type, member)
#define ROW_COUNT(title, key, type, member) ROW_NUMBER(title, key, UNIT_COUNT, ROW_CELL_COUNT, type, member)
#define ROW_PERCENT(type, member) ROW_NUMBER("%", "percent", UNIT_PERCENT, ROW_CELL_PERCENT, type, member)
#define ROW_AVERAGE(type, member, count)                                                                               \
	ROW_OF(.column = COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG), .cell = ROW_CELL_AVERAGE,                     \
	       .at = offsetof(type, member), .other = offsetof(type, count))
#define ROW_TEXT(title, key, truncate, make)                                                                           \
	ROW_OF(.column = COLUMN_NAME(title, key, truncate), .cell = ROW_CELL_TEXT, .text = make)
/* of: COLUMN_NUMBER, COLUMN_NAME or COLUMN_DATA; adds NULL: the one before has added the cell */
#define ROW_ADD(of, adds) ROW_OF(.column = of, .cell = ROW_CELL_ADD, .add = adds)
#define ROW_LABEL(title, key, type, member)                                                                            \
	ROW_OF(.column = COLUMN_NAME(title, key, TEXT_TRUNCATE_PLACE), .cell = ROW_CELL_LABEL,                         \
	       .at = offsetof(type, member))
#define ROW_USER_LINE(type)                                                                                            \
	ROW_OF(.column = COLUMN_DATA("called_from", UNIT_TEXT), .cell = ROW_CELL_USER_LINE,                            \
	       .at = offsetof(type, user_line), .other = offsetof(type, user_lines))
#define ROW_PROCESS(type, member)                                                                                      \
	ROW_OF(.column = COLUMN_NAME("process", "process", TEXT_TRUNCATE_MIDDLE), .cell = ROW_CELL_PROCESS,            \
	       .at = offsetof(type, member))
#define ROW_LINE(type, line, process)                                                                                  \
	ROW_OF(.column = COLUMN_NAME("line", "line", TEXT_TRUNCATE_PLACE), .cell = ROW_CELL_LINE,                      \
	       .at = offsetof(type, line), .other = offsetof(type, process))
#define ROW_END ROW_OF(.column = COLUMN_END, .cell = ROW_CELL_NS)
#define ROW_OF(...)                                                                                                    \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

struct row_table {
	const char *id, *title, *remark; /* report_title; id NULL: the caller has printed it */
	const struct row_column *columns;
	bool unit_of_first; /* times are in the unit of the first row, and the rest in its own; else all in the sum's */
	enum row_carries {
		ROW_CARRIES_ALL,
		ROW_CARRIES_OF_RECORDING, /* report_carries: the sum, of the recording's length */
		ROW_CARRIES_OF_WHOLE,	  /* the sum, of row_list.whole */
	} carries;
	void (*add_notes)(struct report *report, struct table *table, const void *row); /* below the row; NULL */
	/* What is left, in a line below the table: "... and 3 more kernels, 12.0 us", by the first column. */
	const char *more;    /* what a row is; NULL: no such line */
	const char *counted; /* of a count: of what */
};

/* What a table shows, of a trace. */
struct row_list {
	const void *rows;
	size_t count, size;
	uint64_t sum;	  /* of which rows are percents, and whose unit of time they have */
	uint64_t unit_ns; /* in the place of the sum; 0 */
	uint64_t whole;
	const char *title, *remark; /* in the place of the table's; NULL */
	enum row_process {
		ROW_PROCESS_IF_SEVERAL, /* processes of the trace are active */
		ROW_PROCESS_SHOWN,
		ROW_PROCESS_NOT_SHOWN,
	} process;
};

/* Of an array of rows. */
#define ROWS(items, number) .rows = (items), .count = (number), .size = sizeof(*(items))

/* Prints the first rows, as many as are shown; nothing if there is none. */
void report_rows(struct report *report, const struct row_table *table, const struct row_list *list);

/* Rows of a group-by (analyze/sums/group.h). */
#define GROUP_ROW struct line_tally_row
void report_group(struct report *report, const struct row_table *table, const struct group *group);
