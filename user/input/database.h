/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An SQLite database that somebody else wrote, read from a descriptor through libsqlite3, and rows of whole pages
 * straight from them (database_scan.h): tables by name, the columns that they have, rows in the order of the file.
 * Nothing is opened by a name, written, sorted or kept, so a read takes a few MB however long the file is.  Only real
 * tables and plain columns are looked at: of views, triggers, virtual tables and generated columns nothing is run.
 */
#ifndef GPUTRACE_INPUT_DATABASE_H
#define GPUTRACE_INPUT_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "input/database_scan.h"
#include "model/events.h"

#define DATABASE_VALUE_MAX (16u << 20) /* bytes of a value, and of a row */

struct database {
	sqlite3 *handle;
	sqlite3_vfs vfs;
	int fd;
	uint64_t size;	   /* of the file */
	uint64_t whole;	   /* what its header says it has */
	const char *where; /* the first table that is damaged, a literal; NULL: none was */
	bool no_scans;	   /* for tests: all is read by libsqlite3 */
};

/* Where it is in the pages. */
struct database_column {
	enum {
		COLUMN_LACKS, /* the table has none of that name */
		COLUMN_IN_RECORD,
		COLUMN_IS_ID,	/* of the row: another name of it */
		COLUMN_IS_REAL, /* in the record, where also an integer stands for a real number */
	} kind;
	unsigned at; /* in the record */
};

/* A round over one table: by its pages while they are as usual, then by a statement. */
struct database_rows {
	struct database *base;
	struct database_scan *scan; /* both NULL: there is no such table, or no more rows */
	const struct scan_row *row; /* the scan's */
	sqlite3_stmt *statement;
	struct database_column *places; /* by column */
	const char *const *columns;
	unsigned count;
	uint64_t scanned; /* rows that the scan gave: those a statement passes over */
	const char *table;
	uint64_t left; /* bytes that the rest of the table can have at most */
};

/* Whether the file begins as a database does. */
bool database_is(int fd);

/* False: it cannot be read at all.  To be closed in any case. */
bool database_open(struct database *base, int fd);
void database_close(struct database *base);

bool database_has(struct database *base, const char *table);
bool database_has_column(struct database *base, const char *table, const char *column);

/* All rows of a table, if there is one; a column that it lacks is as one without a value.  Literals,
 * also the list. */
struct database_rows database_select(struct database *base, const char *table, const char *const *columns,
				     unsigned count);

/* False: there are no more, and the round is over. */
bool database_next(struct database_rows *rows);
void database_end(struct database_rows *rows);

/* Of the row at hand: an integer, else `none`; a text or a blob, valid until the next row, else of size 0. */
int64_t database_other_number(const struct database_rows *rows, unsigned column, int64_t none);
struct text database_text(struct database_rows *rows, unsigned column);
struct text database_blob(struct database_rows *rows, unsigned column);

static inline int64_t database_number(const struct database_rows *rows, unsigned column, int64_t none)
{
	const struct database_column *place = &rows->places[column];

	return rows->scan && place->kind == COLUMN_IN_RECORD ? scan_row_number(rows->row, place->at, none)
							     : database_other_number(rows, column, none);
}

#endif
