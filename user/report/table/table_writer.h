/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables for programs, and for texts to paste: one after the other as csv, json or md.  A table is a section of a
 * report: an id, a title, columns, rows, and notes, which are sentences about it.  Rows are written as they come.
 *
 *	struct table_writer writer;
 *
 *	table_writer_open(&writer, out, &table_format_json, NULL);
 *	table_writer_title(&writer, "kernels", "GPU time by kernel", "% of GPU time");
 *	table_writer_put(&writer, &table);
 *	table_writer_note(&writer, "one more");
 *	table_writer_close(&writer);
 *
 * docs/formats.md describes the formats.
 */
#pragma once

#include "report/table/table.h"

#define TABLES_SCHEMA "gputrace-tables"
#define TABLES_SCHEMA_VERSION 1

struct table_section {
	char *id, *title, *about; /* about: NULL: none */
	const struct column *columns;
	unsigned count;
	struct table table; /* whose columns these are */
	ARRAY(char *) notes;
	bool is_whole; /* all rows are wanted, even in a format that shows only the first */
};

struct table_writer;

/* A format's functions; NULL: nothing to do. */
struct table_format {
	const char *name;
	unsigned rows;	    /* rows of a table that it shows, UINT_MAX: all */
	bool is_one_table;  /* its readers expect a single table, so a list is written without anything beside it */
	bool is_for_people; /* has the rows that a page of text has; others also have rows for programs */
	bool is_brief;	    /* has only the important tables, unless one is requested */
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
	const char *only; /* the id of the one table that is requested, NULL: all */
	struct table_section section;
	bool is_wanted;		  /* the current section is wanted */
	bool is_begun;		  /* the current table has begun */
	uint64_t tables, rows;	  /* written so far; rows: in the current table */
	ARRAY(char *) kept_notes; /* csv of several tables: pairs of table id and note, until the end */
	ARRAY(char *) ids;	  /* of all tables so far */
	void *keeper;		  /* report_options.keeper */
};

/* only: the id of the one table that is requested, NULL: all.  only and out stay the caller's. */
void table_writer_open(struct table_writer *writer, FILE *out, const struct table_format *format, const char *only);

/* Begins a section; ends the one before. */
void table_writer_title(struct table_writer *writer, const char *id, const char *title, const char *about);

/* Marks the section's rows as requested: all of them are written. */
void table_writer_want_all_rows(struct table_writer *writer);

/* Adds a note; leading blanks are left out. */
void table_writer_note(struct table_writer *writer, const char *text);

/* Writes the section's table, even without rows; takes it over. */
void table_writer_put(struct table_writer *writer, struct table *table);

/* The same row by row: cells has one cell per column, and stays the caller's. */
void table_writer_begin_rows(struct table_writer *writer, const struct column *columns);
void table_writer_put_row(struct table_writer *writer, const struct cell *cells);

/*
 * Ends what is open and frees all. -ENOENT: there was no table of that id; then *ids, if ids is not NULL, gets the ids
 * of all tables, for the caller to free (else NULL).  Write errors stay in out.
 */
int table_writer_close(struct table_writer *writer, char **ids);

/* "integer", "number" or "string"; "ns", "count", NULL: no unit. */
const char *unit_type(enum unit unit);
const char *unit_name(enum unit unit);

/* Writes a cell's number in a form valid in JSON and CSV. */
void cell_put_number(const struct cell *cell, FILE *out);
