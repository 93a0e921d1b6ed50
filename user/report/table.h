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

/* A line of its own below a row. */
struct table_note {
	size_t row;
	char *text;
};

struct table {
	const struct column *columns;
	unsigned count;
	ARRAY(char *) cells; /* row by row */
	ARRAY(struct table_note) notes;
};

#define TABLE_COLUMNS_MAX 10u

void table_begin(struct table *table, const struct column *columns);

/* The next cell, by rows. */
void table_add(struct table *table, const char *text);
void table_add_number(struct table *table, struct number number);

/* Below the row that was added last, from the first name on; the text becomes the table's. */
void table_add_note(struct table *table, char *text);

/* Writes title row and rows (out NULL: nothing); frees the table. */
void table_end(struct table *table, FILE *out, unsigned width, bool color);

#endif
