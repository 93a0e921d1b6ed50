/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An SQLite database that another program wrote, read from a descriptor by libsqlite3: tables by name, their columns,
 * rows in file order.  Nothing is opened by name, written, sorted or kept, so reading takes a few MB however long the
 * file is.  Only real tables and plain columns are read: nothing of views, triggers, virtual tables or generated
 * columns is run.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/events.h"

#define DATABASE_VALUE_MAX (16u << 20) /* bytes of a value, and of a row */

struct database {
	sqlite3 *handle;
	sqlite3_vfs vfs;
	char name[32]; /* of the vfs; its own, as several files may be open */
	int fd;
	uint64_t size;	   /* of the file */
	uint64_t whole;	   /* size according to its header */
	const char *where; /* the first damaged table, a literal; NULL: none */
};

/* One pass over a table. */
struct database_rows {
	struct database *base;
	sqlite3_stmt *statement; /* NULL: no such table, or no more rows */
	const char *table;
	uint64_t has;  /* bit i: the table has column i */
	uint64_t left; /* upper bound of the bytes in the rest of the table */
};

/* Whether the file starts like a database. */
bool database_is(int fd);

/*
 * Says that SQLite would read more than the file itself: a journal lies beside it, with changes of which the file has
 * not all.  NULL: it has, or has no name by now.  The caller frees the text.
 */
char *database_journal(int fd);

/* False: it cannot be read at all.  The caller closes it in any case. */
bool database_open(struct database *base, int fd);
void database_close(struct database *base);

bool database_has(struct database *base, const char *table);
/* Whether the name of a table is like that, as a shell reads patterns. */
bool database_has_like(struct database *base, const char *pattern);
bool database_has_column(struct database *base, const char *table, const char *column);

#define DATABASE_COLUMNS_MAX 64u

/* Selects all rows of a table, or none if it does not exist; a missing column reads as NULL.  table: a literal. */
struct database_rows database_select(struct database *base, const char *table, const char *const *columns,
				     unsigned count);

/* False: there are no more rows, and the pass is over. */
bool database_next(struct database_rows *rows);
void database_end(struct database_rows *rows);

/* Values of the current row: an integer, or `none`; a text or blob, valid until the next row, or of size 0. */
static inline int64_t database_number(const struct database_rows *rows, unsigned column, int64_t none)
{
	sqlite3_value *value;

	if (!(rows->has >> column & 1))
		return none;
	value = sqlite3_column_value(rows->statement, (int)column);
	return sqlite3_value_type(value) == SQLITE_INTEGER ? sqlite3_value_int64(value) : none;
}

struct text database_text(struct database_rows *rows, unsigned column);
struct text database_blob(struct database_rows *rows, unsigned column);

/*
 * A read-only file system for SQLite with one file, base->fd; base->size and whole are set.  A truncated file appears
 * as long as its header says, so that the rest of it can be read.  A journal beside the file is ignored.  False:
 * libsqlite3 does not open it.
 */
bool database_file_open(struct database *base);
void database_file_close(struct database *base);
