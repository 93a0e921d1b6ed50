/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of text: numbers to the right, names to the left, columns as wide as their contents, and names truncated
 * where the whole would be wider than the page.
 */
#ifndef GPUTRACE_TABLE_H
#define GPUTRACE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/array.h"
#include "report/text.h"

struct column {
	const char *title; /* NULL ends the list */
	bool is_name;	   /* to the left, and may be truncated */
	enum text_truncate truncate;
};

struct table {
	const struct column *columns;
	unsigned count;
	ARRAY(char *) cells; /* row by row */
};

#define TABLE_COLUMNS_MAX 10u

void table_begin(struct table *table, const struct column *columns);

/* The next cell, by rows. */
void table_add(struct table *table, const char *text);
void table_add_number(struct table *table, struct number number);

/* Writes title row and rows (out NULL: nothing); frees the table. */
void table_end(struct table *table, FILE *out, unsigned width, bool color);

#endif
