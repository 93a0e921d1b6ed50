/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An SQLite database that another program wrote, read from a descriptor by libsqlite3: tables by name, the columns that
 * they have, rows in the order of the file.  Nothing is opened by a name, written, sorted or kept, so a read takes a
 * few MB however long the file is.  Only real tables and plain columns are looked at: of views, triggers, virtual
 * tables and generated columns nothing is run.
 */
#ifndef GPUTRACE_INPUT_DATABASE_H
#define GPUTRACE_INPUT_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/events.h"

#define DATABASE_VALUE_MAX (16u << 20) /* bytes of a value, and of a row */

struct database {
	sqlite3 *handle;
	sqlite3_vfs vfs;
	int fd;
	uint64_t size;	   /* of the file */
	uint64_t whole;	   /* what its header says it has */
	const char *where; /* the first table that is damaged, a literal; NULL: none was */
};

/* A round over one table. */
struct database_rows {
	struct database *base;
	sqlite3_stmt *statement; /* NULL: there is no such table, or no more rows */
	const char *table;
	uint64_t has;  /* bit i: the table has column i */
	uint64_t left; /* bytes that the rest of the table can have at most */
};

/* Whether the file begins as a database does. */
bool database_is(int fd);

/* False: it cannot be read at all.  To be closed in any case. */
bool database_open(struct database *base, int fd);
void database_close(struct database *base);

bool database_has(struct database *base, const char *table);
bool database_has_column(struct database *base, const char *table, const char *column);

#define DATABASE_COLUMNS_MAX 64u

/* All rows of a table, if there is one; a column that it lacks is as one without a value.  table: a literal. */
struct database_rows database_select(struct database *base, const char *table, const char *const *columns,
				     unsigned count);

/* False: there are no more, and the round is over. */
bool database_next(struct database_rows *rows);
void database_end(struct database_rows *rows);

/* Of the current row: an integer, else `none`; a text or a blob, valid until the next row, else of size 0. */
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
 * The file system for SQLite with one file, base->fd, which can only be read; base->size and whole are set.  A file
 * that is cut seems as long as its header says, so that what is left of it can be read; what a journal beside it holds
 * is not.  False: libsqlite3 does not open it.
 */
bool database_file_open(struct database *base);
void database_file_close(struct database *base);

#endif
