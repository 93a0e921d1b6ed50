/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables by declaration: what is said of all rows, and a function that adds a row, in which each cell says its column.
 *
 *	static void add_row(struct report *report, struct table *table, const void *item)
 *	{
 *		const GROUP_ROW *row = item;
 *
 *		table_add_ns(table, "%s", "gpu_ns", row->ns);
 *	}
 *	static const struct row_table table = {.id = "kernels", .title = "GPU time by kernel", .add_row = add_row};
 *
 *	report_group(report, &table, &report->all->kernels);
 */
#pragma once

#include <stddef.h>

#include "report/page/page.h"

struct row_table {
	const char *id, *title, *remark; /* report_title; id NULL: the caller has printed it */
	void (*add_row)(struct report *report, struct table *table, const void *row);
	bool (*is_shown)(const struct report *report, const void *row); /* NULL: all rows are */
	size_t amount;	    /* where in a row the uint64_t is that rows are of, and of which `more` has the sum */
	bool unit_of_first; /* times are in the unit of the first row's amount, and the rest in its own; else in the
			       sum's */
	enum row_carries {
		ROW_CARRIES_ALL,
		ROW_CARRIES_OF_RECORDING, /* report_carries: the sum, of the recording's length */
		ROW_CARRIES_OF_WHOLE,	  /* the sum, of row_list.whole */
	} carries;
	/* What is left, in a line below the table: "... and 3 more kernels, 12.0 us". */
	const char *more;			/* what a row is; NULL: no such line */
	const char *counted;			/* of a count: of what */
	struct number (*amount_text)(uint64_t); /* NULL: as times */
};

/* What a table shows, of a trace. */
struct row_list {
	const void *rows;
	size_t count, size;
	const void *none;    /* a row that makes the columns of a table without rows; NULL: there is no such table */
	bool has_all;	     /* all rows are shown, however many a table has */
	const void *context; /* table.context */
	uint64_t sum;	     /* of which rows are shares, and whose unit of time they have */
	uint64_t unit_ns;    /* in the place of the sum; 0 */
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

/* The same of an ARRAY. */
#define ROWS_OF(array) ROWS((array)->items, (array)->count)

/* Prints the first rows, as many as are shown. */
void report_rows(struct report *report, const struct row_table *table, const struct row_list *list);

/* Rows of a group-by (analyze/sums/group.h). */
#define GROUP_ROW struct line_tally_row
void report_group(struct report *report, const struct row_table *table, const struct group *group);
