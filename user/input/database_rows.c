/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rounds over tables, straight from their pages as far as these are as usual; see database.h. */
#include "input/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ROW_MIN 4 /* bytes of a row in a file: its place in the page, its length, its number */

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static sqlite3_stmt *ask(struct database *base, const char *pragma, const char *table)
{
	char *text = xasprintf("PRAGMA main.%s(\"%s\")", pragma, table);
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(base->handle, text, -1, &statement, NULL);
	free(text);
	return statement;
}

static bool text_is(sqlite3_stmt *statement, int column, const char *text)
{
	const char *value = (const char *)sqlite3_column_text(statement, column);

	return value && !sqlite3_stricmp(value, text);
}

/* By the rules of "Determination Of Column Affinity" in SQLite's documentation. */
static bool is_real(const char *declared)
{
	static const char *const others[] = {"%int%", "%char%", "%clob%", "%text%", "%blob%"};
	static const char *const real[] = {"%real%", "%floa%", "%doub%"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!sqlite3_strlike(others[i], declared, 0))
			return false;
	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
		if (!sqlite3_strlike(real[i], declared, 0))
			return true;
	return false;
}

/* Generated columns and hidden ones are not in this list; false: it has none of those. */
static bool find_columns(struct database *base, const char *table, const char *const *columns, unsigned count,
			 struct database_column *places)
{
	sqlite3_stmt *statement = ask(base, "table_info", table);
	bool any = false;

	while (sqlite3_step(statement) == SQLITE_ROW)
		for (unsigned i = 0; i < count; i++) {
			const char *declared = (const char *)sqlite3_column_text(statement, 2);

			if (!text_is(statement, 1, columns[i]))
				continue;
			any = true;
			places[i] = (struct database_column){
				.kind = declared && is_real(declared) ? COLUMN_IS_REAL : COLUMN_IN_RECORD,
				.at = (unsigned)sqlite3_column_int(statement, 0),
			};
		}
	sqlite3_finalize(statement);
	return any;
}

bool database_has_column(struct database *base, const char *table, const char *column)
{
	struct database_column place = {0};

	return database_has(base, table) && find_columns(base, table, &column, 1, &place);
}

/* ---- what a scan has to know ------------------------------------------------------------------------------------- */

/* A key with an index of its own: rows may be in its order, not by their number. */
static bool has_key_index(struct database *base, const char *table)
{
	sqlite3_stmt *statement = ask(base, "index_list", table);
	bool found = false;

	while (sqlite3_step(statement) == SQLITE_ROW)
		found |= text_is(statement, 3, "pk");
	sqlite3_finalize(statement);
	return found;
}

/*
 * Finds the column that is another name of the row's number (UINT32_MAX: none); false: records are not as the columns
 * say.
 */
static bool is_plain(struct database *base, const char *table, unsigned *id)
{
	sqlite3_stmt *statement = ask(base, "table_xinfo", table);
	unsigned keys = 0;
	bool plain = true;

	*id = UINT32_MAX;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (sqlite3_column_int(statement, 6)) /* hidden, or generated */
			plain = false;
		if (!sqlite3_column_int(statement, 5))
			continue;
		keys++;
		*id = (unsigned)sqlite3_column_int(statement, 0);
		plain &= text_is(statement, 2, "INTEGER");
	}
	sqlite3_finalize(statement);
	return plain && keys <= 1 && !has_key_index(base, table);
}

static uint32_t root_of(struct database *base, const char *table)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_int64 root = 0;

	if (sqlite3_prepare_v2(base->handle,
			       "SELECT rootpage FROM sqlite_master WHERE type='table' AND name=?1 COLLATE NOCASE", -1,
			       &statement, NULL) == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
		if (sqlite3_step(statement) == SQLITE_ROW)
			root = sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	return root > 1 && root < UINT32_MAX ? (uint32_t)root : 0;
}

static struct database_scan *new_scan(struct database_rows *rows)
{
	unsigned id, looked_at = 0;
	uint32_t root = root_of(rows->base, rows->table);

	if (rows->base->no_scans || !root || !is_plain(rows->base, rows->table, &id))
		return NULL;
	for (unsigned i = 0; i < rows->count; i++) {
		struct database_column *place = &rows->places[i];

		if (place->kind != COLUMN_LACKS && place->at == id)
			place->kind = COLUMN_IS_ID;
		else if (place->kind != COLUMN_LACKS && place->at >= looked_at)
			looked_at = place->at + 1;
	}
	return database_scan_new(rows->base->fd, root, looked_at, DATABASE_VALUE_MAX);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

static void note_damage(struct database_rows *rows)
{
	if (!rows->base->where)
		rows->base->where = rows->table;
}

static void new_statement(struct database_rows *rows)
{
	char *text = NULL;
	size_t size = 0;
	FILE *statement = open_memstream(&text, &size);

	if (!statement)
		abort();
	fputs("SELECT ", statement);
	for (unsigned i = 0; i < rows->count; i++) {
		/* without a table's name in front one in quotes would be a text where there is no such column */
		if (rows->places[i].kind != COLUMN_LACKS)
			fprintf(statement, "%smain.\"%s\".\"%s\"", i ? "," : "", rows->table, rows->columns[i]);
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
	/* text of 16 bits a character may have half as much again in 8 */
	struct database_rows rows = {
		.base = base, .table = table, .columns = columns, .count = count, .left = 2 * base->size};

	if (!database_has(base, table))
		return rows;
	rows.places = xcalloc(count, sizeof(*rows.places));
	if (find_columns(base, table, columns, count, rows.places)) {
		rows.scan = new_scan(&rows);
		rows.row = rows.scan ? database_scan_row(rows.scan) : NULL;
		if (!rows.scan)
			new_statement(&rows);
	}
	if (!rows.scan && !rows.statement)
		database_end(&rows);
	return rows;
}

/* The next row is at hand; false: there are no more. */
static bool step(struct database_rows *rows)
{
	int result;

	if (rows->scan) {
		enum scan_result scanned = database_scan_next(rows->scan);

		rows->scanned += scanned == SCAN_ROW;
		if (scanned != SCAN_ODD)
			return scanned == SCAN_ROW;
		database_scan_free(rows->scan);
		rows->scan = NULL;
		new_statement(rows);
	}
	if (!rows->statement)
		return false;
	do
		result = sqlite3_step(rows->statement);
	while (rows->scanned && rows->scanned-- && result == SQLITE_ROW);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		note_damage(rows);
	return result == SQLITE_ROW;
}

bool database_next(struct database_rows *rows)
{
	if (!rows->scan && !rows->statement)
		return false;
	if (step(rows)) {
		/* pages may name each other, so that there seem to be more rows than the file has room for */
		if (rows->left >= ROW_MIN) {
			rows->left -= ROW_MIN;
			return true;
		}
		note_damage(rows);
	}
	database_end(rows);
	return false;
}

void database_end(struct database_rows *rows)
{
	database_scan_free(rows->scan);
	sqlite3_finalize(rows->statement);
	free(rows->places);
	rows->scan = NULL;
	rows->statement = NULL;
	rows->places = NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int64_t database_other_number(const struct database_rows *rows, unsigned column, int64_t none)
{
	const struct database_column *place = &rows->places[column];

	if (place->kind == COLUMN_LACKS)
		return none;
	if (!rows->scan)
		return sqlite3_column_type(rows->statement, (int)column) == SQLITE_INTEGER
			       ? sqlite3_column_int64(rows->statement, (int)column)
			       : none;
	return place->kind == COLUMN_IS_ID ? rows->row->id : none;
}

static struct text take(struct database_rows *rows, struct text value)
{
	rows->left -= value.size < rows->left ? value.size : rows->left;
	return value.size ? value : (struct text){"", 0};
}

/* type: SQLITE_TEXT, SQLITE_BLOB. */
static struct text bytes_of(struct database_rows *rows, unsigned column, int type)
{
	const struct database_column *place = &rows->places[column];
	const void *bytes;

	if (place->kind == COLUMN_LACKS || (rows->scan && place->kind == COLUMN_IS_ID))
		return (struct text){"", 0};
	if (rows->scan)
		return take(rows, type == SQLITE_TEXT ? scan_row_text(rows->row, place->at)
						      : scan_row_blob(rows->row, place->at));
	if (sqlite3_column_type(rows->statement, (int)column) != type)
		return (struct text){"", 0};
	bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(rows->statement, (int)column)
				    : sqlite3_column_blob(rows->statement, (int)column);
	return take(rows, (struct text){bytes, bytes ? (size_t)sqlite3_column_bytes(rows->statement, (int)column) : 0});
}

struct text database_text(struct database_rows *rows, unsigned column)
{
	return bytes_of(rows, column, SQLITE_TEXT);
}

struct text database_blob(struct database_rows *rows, unsigned column)
{
	return bytes_of(rows, column, SQLITE_BLOB);
}
