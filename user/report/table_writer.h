/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables for programs, and for texts that are pasted: one after the other as csv, json or md.  A table is a section of
 * a report: an id, a title, columns, rows, and notes, which are sentences about it.  Rows are written as they come.
 *
 *	struct table_writer writer;
 *
 *	table_writer_open(&writer, out, &table_format_json, NULL);
 *	table_writer_title(&writer, "kernels", "GPU time by kernel", "% of GPU time");
 *	table_writer_put(&writer, &table);
 *	table_writer_note(&writer, "one more");
 *	table_writer_close(&writer);
 *
 * docs/formats.md says what they look like.
 */
#ifndef GPUTRACE_TABLE_WRITER_H
#define GPUTRACE_TABLE_WRITER_H

#include "report/table.h"

#define TABLES_SCHEMA "gputrace-tables"
#define TABLES_SCHEMA_VERSION 1

struct table_section {
	char *id, *title, *about; /* about: NULL where there is nothing to say */
	const struct column *columns;
	unsigned count;
	ARRAY(char *) notes;
	bool is_whole; /* all its rows are wanted, also where a format has the first alone */
};

struct table_writer;

/* What a format does at these moments; those that are NULL are nothing to it. */
struct table_format {
	const char *name;
	unsigned rows;	   /* of a table that are of use, UINT_MAX: all */
	bool is_one_table; /* what a reader takes for one table, so a list alone has nothing beside it */
	bool is_brief;	   /* only the tables that matter, unless one is asked for */
	void (*begin)(struct table_writer *writer);
	void (*begin_table)(struct table_writer *writer);
	void (*put_row)(struct table_writer *writer, const struct cell *cells);
	void (*end_table)(struct table_writer *writer);
	void (*end)(struct table_writer *writer);
};

extern const struct table_format table_format_csv, table_format_json, table_format_md;

/* NULL: not one of csv, json, md. */
const struct table_format *table_format_by_name(const char *name);

struct table_writer {
	FILE *out;
	const struct table_format *format;
	const char *only; /* the one table that is asked for, NULL: all */
	struct table_section section;
	bool is_wanted;		  /* this section is */
	bool is_begun;		  /* its table is */
	uint64_t tables, rows;	  /* written so far; rows: of this table */
	ARRAY(char *) kept_notes; /* csv of several tables: id of a table, note; until the end */
	ARRAY(char *) ids;	  /* of all there were */
	void *keeper;		  /* report_options.keeper */
};

/* only: the id of the one table that is wanted, NULL: all.  It and out stay the caller's. */
void table_writer_open(struct table_writer *writer, FILE *out, const struct table_format *format, const char *only);

/* Ends the section before it. */
void table_writer_title(struct table_writer *writer, const char *id, const char *title, const char *about);

/* Of this section all rows are wanted: they are what was asked for. */
void table_writer_want_all_rows(struct table_writer *writer);

/* A sentence; blanks in front are left out. */
void table_writer_note(struct table_writer *writer, const char *text);

/* The table of this section; one without rows is written, too. */
void table_writer_put(struct table_writer *writer, const struct table *table);

/* The same row by row: cells has as many as there are columns, and stays the caller's. */
void table_writer_begin_rows(struct table_writer *writer, const struct column *columns);
void table_writer_put_row(struct table_writer *writer, const struct cell *cells);

/* Ends what is open and frees all.  -ENOENT: there was no table of that id; where ids is not NULL, all there were are
 * in *ids (to be freed, else NULL).  Errors of out are out's. */
int table_writer_close(struct table_writer *writer, char **ids);

/* "integer", "number" or "string"; "ns", "count", NULL: it has none. */
const char *unit_type(enum unit unit);
const char *unit_name(enum unit unit);

/* A cell's number as text that JSON and CSV have. */
void cell_put_number(const struct cell *cell, FILE *out);

#endif
