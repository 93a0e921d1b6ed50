/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which parts of a database are read, and how much; see database.h. */
#include "input/database/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define HEAP_MAX (256ll << 20) /* of libsqlite3: the declared tables and columns are kept in memory */
#define ROW_MIN 4	       /* bytes of a row in a file: offset in the page, length, row id */

static const char magic[16] = "SQLite format 3";

bool database_is(int fd)
{
	char begin[sizeof(magic)];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) && !memcmp(begin, magic, sizeof(begin));
}

/* The page count times the page size (0x0001: 65,536). */
static uint64_t size_of_header(int fd)
{
	uint8_t header[100];
	uint64_t page, pages;

	if (pread(fd, header, sizeof(header), 0) != sizeof(header))
		return 0;
	page = (uint64_t)header[16] << 8 | header[17];
	pages = (uint64_t)header[28] << 24 | (uint64_t)header[29] << 16 | (uint64_t)header[30] << 8 | header[31];
	return pages * (page == 1 ? 65536 : page);
}

/* Disables everything that a database could run while it is read; false: this libsqlite3 cannot. */
static bool restrict_database(struct database *base)
{
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(base->handle, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_MAX);
	sqlite3_limit(base->handle, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(base->handle, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
	sqlite3_limit(base->handle, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_hard_heap_limit64(HEAP_MAX);
	return sqlite3_exec(base->handle,
			    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; "
			    "PRAGMA mmap_size=0; PRAGMA cache_size=-8192",
			    NULL, NULL, NULL) == SQLITE_OK;
}

bool database_open(struct database *base, int fd)
{
	struct stat stat;
	sqlite3_stmt *first = NULL;
	bool readable;

	*base = (struct database){.fd = fd};
	if (fstat(fd, &stat) < 0 || stat.st_size <= 0)
		return false;
	base->size = (uint64_t)stat.st_size;
	base->whole = size_of_header(fd);
	if (!database_file_open(base) || !restrict_database(base))
		return false;
	/* reads the declarations of the file */
	readable =
		sqlite3_prepare_v2(base->handle, "SELECT count(*) FROM sqlite_master", -1, &first, NULL) == SQLITE_OK &&
		sqlite3_step(first) == SQLITE_ROW;
	sqlite3_finalize(first);
	return readable;
}

void database_close(struct database *base)
{
	database_file_close(base);
	sqlite3_hard_heap_limit64(0);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* A view or a virtual table has no page of its own. */
#define TABLES "SELECT 1 FROM sqlite_master WHERE type='table' AND rootpage>0 AND "

static bool any_table(struct database *base, const char *query, const char *name)
{
	sqlite3_stmt *statement = NULL;
	bool found;

	if (sqlite3_prepare_v2(base->handle, query, -1, &statement, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	found = sqlite3_step(statement) == SQLITE_ROW;
	sqlite3_finalize(statement);
	return found;
}

bool database_has(struct database *base, const char *table)
{
	return any_table(base, TABLES "name=?1 COLLATE NOCASE", table);
}

bool database_has_like(struct database *base, const char *pattern)
{
	return any_table(base, TABLES "name GLOB ?1", pattern);
}

/* The columns that the table has, without generated and hidden ones: bit i is column i. */
static uint64_t find_columns(struct database *base, const char *table, const char *const *columns, unsigned count)
{
	AUTO_FREE char *text = xasprintf("PRAGMA main.table_info(\"%s\")", table);
	sqlite3_stmt *statement = NULL;
	uint64_t found = 0;

	sqlite3_prepare_v2(base->handle, text, -1, &statement, NULL);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 1);

		for (unsigned i = 0; name && i < count; i++)
			if (!sqlite3_stricmp(name, columns[i]))
				found |= UINT64_C(1) << i;
	}
	sqlite3_finalize(statement);
	return found;
}

bool database_has_column(struct database *base, const char *table, const char *column)
{
	return database_has(base, table) && find_columns(base, table, &column, 1);
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

static void note_damage(struct database_rows *rows)
{
	if (!rows->base->where)
		rows->base->where = rows->table;
}

static void new_statement(struct database_rows *rows, const char *const *columns, unsigned count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *statement = open_memstream(&text, &size);

	if (!statement)
		abort();
	fputs("SELECT ", statement);
	for (unsigned i = 0; i < count; i++) {
		/* a quoted column without the table's name in front is read as a text if there is no such column */
		if (rows->has >> i & 1)
			fprintf(statement, "%smain.\"%s\".\"%s\"", i ? "," : "", rows->table, columns[i]);
		else
			fprintf(statement, "%sNULL", i ? "," : "");
	}
	fprintf(statement, " FROM main.\"%s\"", rows->table);
	fclose(statement);
	if (sqlite3_prepare_v2(rows->base->handle, text, -1, &rows->statement, NULL) != SQLITE_OK)
		note_damage(rows);
	free(text);
}

struct database_rows database_select(struct database *base, const char *table, const char *const *columns,
				     unsigned count)
{
	/* UTF-16 text may grow by half in UTF-8 */
	struct database_rows rows = {.base = base, .table = table, .left = 2 * base->size};

	if (count > DATABASE_COLUMNS_MAX)
		abort();
	if (database_has(base, table))
		rows.has = find_columns(base, table, columns, count);
	if (rows.has)
		new_statement(&rows, columns, count);
	return rows;
}

bool database_next(struct database_rows *rows)
{
	int result;

	if (!rows->statement)
		return false;
	result = sqlite3_step(rows->statement);
	/* pages may refer to each other in a cycle, so that there seem to be more rows than fit in the file */
	if (result == SQLITE_ROW && rows->left >= ROW_MIN) {
		rows->left -= ROW_MIN;
		return true;
	}
	if (result != SQLITE_DONE)
		note_damage(rows);
	database_end(rows);
	return false;
}

void database_end(struct database_rows *rows)
{
	sqlite3_finalize(rows->statement);
	rows->statement = NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* type: SQLITE_TEXT, SQLITE_BLOB. */
static struct text bytes_of(struct database_rows *rows, unsigned column, int type)
{
	struct text bytes = {"", 0};

	if (sqlite3_column_type(rows->statement, (int)column) != type)
		return bytes;
	bytes.bytes = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(rows->statement, (int)column)
					  : sqlite3_column_blob(rows->statement, (int)column);
	bytes.size = bytes.bytes ? (size_t)sqlite3_column_bytes(rows->statement, (int)column) : 0;
	rows->left -= bytes.size < rows->left ? bytes.size : rows->left;
	return bytes.size ? bytes : (struct text){"", 0};
}

struct text database_text(struct database_rows *rows, unsigned column)
{
	return bytes_of(rows, column, SQLITE_TEXT);
}

struct text database_blob(struct database_rows *rows, unsigned column)
{
	return bytes_of(rows, column, SQLITE_BLOB);
}
