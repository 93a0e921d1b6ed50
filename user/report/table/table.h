/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables as values: columns, and rows of cells, each with a text for people and a value for programs.  On a page
 * (table_put) numbers are aligned to the right and names to the left, columns are as wide as their contents, and on a
 * terminal names are truncated where the whole would be wider than the page.  As csv, json or md: table_writer.h.
 *
 *	struct table table = {0};
 *
 *	table_begin_row(&table);
 *	table_add_bytes(&table, "bytes", "bytes", row->bytes);
 *	table_add_name(&table, "line", "line", TEXT_TRUNCATE_MIDDLE, label);
 *	report_table(report, &table);
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/array.h"
#include "report/table/text.h"

/* The unit of a column for programs, whatever a page shows. */
enum unit {
	UNIT_TEXT,
	UNIT_ID, /* an integer that is no count */
	UNIT_COUNT,
	UNIT_COUNT_AVG, /* a count with a fraction */
	UNIT_NS,
	UNIT_NS_AVG, /* ns with a fraction */
	UNIT_BYTES,
	UNIT_BYTES_AVG, /* bytes with a fraction */
	UNIT_PERCENT,
	UNIT_BYTES_PER_S,
	UNIT_NUMBER, /* something else, which the column's name says */
};

struct column {
	const char *title; /* on a page; NULL ends the list */
	bool is_name;	   /* left-aligned, and may be truncated */
	enum text_truncate truncate;
	const char *key; /* in csv and json, with the unit in it: "self_ns"; NULL: not in these */
	enum unit unit;
};

#define COLUMN_NOT_SHOWN "\n" /* as title: the column is for programs only */

#define COLUMN_NUMBER(title, key, unit)                                                                                \
	{                                                                                                              \
		title, false, TEXT_TRUNCATE_END, key, unit                                                             \
	}
#define COLUMN_NAME(title, key, truncate)                                                                              \
	{                                                                                                              \
		title, true, truncate, key, UNIT_TEXT                                                                  \
	}
#define COLUMN_DATA(key, unit)                                                                                         \
	{                                                                                                              \
		COLUMN_NOT_SHOWN, false, TEXT_TRUNCATE_END, key, unit                                                  \
	} /* for programs only */
#define COLUMN_END                                                                                                     \
	{                                                                                                              \
		NULL, false, TEXT_TRUNCATE_END, NULL, UNIT_TEXT                                                        \
	}

enum cell_kind {
	CELL_TEXT,
	CELL_INTEGER,
	CELL_SIGNED, /* integer in two's complement */
	CELL_NUMBER,
	CELL_UNKNOWN, /* null */
};

struct cell {
	char *text; /* on a page; NULL: "" */
	char *full; /* CELL_TEXT: text for programs if it differs from `text`; NULL */
	uint64_t integer;
	double number;
	enum cell_kind kind;
};

/* A line below a row, on a page. */
struct table_note {
	size_t row;
	char *text;
};

#define TABLE_COLUMNS_MAX 32u

struct table {
	const struct column *columns; /* ended by one without a title */
	unsigned count;
	ARRAY(struct cell) cells; /* row by row */
	ARRAY(struct table_note) notes;
	/* what cells need */
	struct time_unit unit; /* of table_add_ns */
	double whole;	       /* of table_add_share */
	bool shows_process;    /* a page has the column of processes */
	const void *context;   /* what the rows are of */
	struct column *made;   /* the columns, where the cells of the first row make them */
	ARRAY(char *) titles;  /* of those */
	bool is_made;	       /* the first row is complete */
};

/* Whether a page shows the column. */
static inline bool column_is_shown(const struct column *column)
{
	return *column->title != *COLUMN_NOT_SHOWN;
}

/*
 * Rows whose cells say their columns: title on a page (NULL: for programs only; "%s" is table.unit), key for programs
 * (NULL: for a page only), and then the value.  Each row has the same ones.
 */
void table_begin_row(struct table *table);

/* Called by cells: in the first row each makes a column.  Its title is copied. */
void table_add_column(struct table *table, struct column column);

void table_add_name(struct table *table, const char *title, const char *key, enum text_truncate truncate,
		    const char *text); /* NULL: not known, "-" */
void table_add_named(struct table *table, const char *title, const char *key, enum text_truncate truncate,
		     const char *text, const char *full); /* full: for programs */
void table_add_integer(struct table *table, const char *title, const char *key, enum unit unit, struct number shown,
		       uint64_t value);
void table_add_value(struct table *table, const char *title, const char *key, enum unit unit, struct number shown,
		     double value); /* NAN: unknown */
void table_add_signed(struct table *table, const char *title, const char *key, enum unit unit, int64_t value);
void table_add_shown(struct table *table, const char *title, struct number shown);	   /* for a page only */
void table_add_data(struct table *table, const char *key, enum unit unit, uint64_t value); /* for programs only */
void table_add_word(struct table *table, const char *key, const char *text);		   /* the same */
void table_add_id(struct table *table, const char *title, const char *key, uint64_t id);   /* without separators */
void table_add_count(struct table *table, const char *title, const char *key, uint64_t count);
void table_add_bytes(struct table *table, const char *title, const char *key, uint64_t bytes);
void table_add_memory(struct table *table, const char *title, const char *key, uint64_t bytes); /* number_memory */
/* Growth in bytes per step; shown ("+13.0 MB") only if positive. */
void table_add_growth(struct table *table, const char *title, const char *key, double bytes);
void table_add_ns(struct table *table, const char *title, const char *key, uint64_t ns);
void table_add_time(struct table *table, const char *title, const char *key, uint64_t ns); /* number_time */
void table_add_percent(struct table *table, const char *title, const char *key, double part, double whole);
void table_add_share(struct table *table, uint64_t part); /* in percent */
/* in us on a page; unknown if count is 0 */
void table_add_average(struct table *table, uint64_t ns, uint64_t count);
/* GB/s on a page; unknown if ns is 0 */
void table_add_rate(struct table *table, double bytes, uint64_t ns);

/* Unless it is known, the latest cell (the latest ones) becomes unknown. */
void table_unset_unless(struct table *table, bool is_known, const char *shown);
void table_unset_last(struct table *table, unsigned cells, bool are_known, const char *shown);

/* The same of a cell by its number in table.cells. */
void table_unset_cell(struct table *table, size_t cell, const char *shown);

/* Frees the rows; columns stay. */
void table_drop_rows(struct table *table);

/* A note below the latest row, from the first name column on; takes over the text. */
void table_add_note(struct table *table, char *text);

struct table_look {
	unsigned width; /* of the page, to which names are truncated */
	bool truncates; /* false: names are whole, and stick out of their column */
	bool color;
};

/* The columns that a page needs at least for the columns that are shown. */
unsigned table_least(const struct table *table);

/* Writes title row and rows as text. */
void table_put(const struct table *table, FILE *out, const struct table_look *look);

void table_free(struct table *table);
