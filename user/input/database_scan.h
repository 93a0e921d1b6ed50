/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rows of a table straight from its pages, by SQLite's published file format: libsqlite3 spends six tenths of a
 * report's time on a step and a look at each column, where nothing but integers in a row are wanted.  What is in the
 * file, and all that is in any way unusual, is libsqlite3's: a scan stops in front of what it does not take for whole
 * (SCAN_ODD), and who asked goes on there with a statement.  A page is looked at whole before a row of it is given, as
 * libsqlite3 does, so both give the same rows of a damaged file.
 */
#ifndef GPUTRACE_INPUT_DATABASE_SCAN_H
#define GPUTRACE_INPUT_DATABASE_SCAN_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "model/events.h"

#define SCAN_COLUMNS_MAX 256u /* of a record, that are looked at */

struct database_scan;

/* The row at hand: where the values of its record lie, of the columns that are looked at, and their serial types. */
struct scan_row {
	int64_t id;
	const uint8_t *record;
	uint32_t at[SCAN_COLUMNS_MAX], type[SCAN_COLUMNS_MAX];
};

enum scan_result {
	SCAN_ROW,
	SCAN_END,
	SCAN_ODD, /* and so from now on */
};

/*
 * Of the table that begins at a page; columns: of its records, as many as are looked at; value_max: bytes of a row.
 * NULL: not one that is read here.  fd stays the caller's.
 */
struct database_scan *database_scan_new(int fd, uint32_t root, unsigned columns, uint32_t value_max);
void database_scan_free(struct database_scan *scan); /* NULL: nothing */

enum scan_result database_scan_next(struct database_scan *scan);

/* Its row; one place for all rows of a scan. */
const struct scan_row *database_scan_row(const struct database_scan *scan);

/* Columns as they lie in the record, below those that are looked at. */
int64_t scan_row_long_number(const struct scan_row *row, unsigned column, int64_t none);
struct text scan_row_text(const struct scan_row *row, unsigned column); /* valid until the next row */
struct text scan_row_blob(const struct scan_row *row, unsigned column); /* likewise */

static inline int64_t scan_row_number(const struct scan_row *row, unsigned column, int64_t none)
{
	const uint8_t *bytes = row->record + row->at[column];
	uint64_t eight;
	uint32_t four;

	switch (row->type[column]) {
	case 1:
		return (int8_t)bytes[0];
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return (int32_t)be32toh(four);
	case 6:
		memcpy(&eight, bytes, sizeof(eight));
		return (int64_t)be64toh(eight);
	default:
		return scan_row_long_number(row, column, none);
	}
}

#endif
