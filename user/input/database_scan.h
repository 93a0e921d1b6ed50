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

#include <stdbool.h>
#include <stdint.h>

#include "model/events.h"

#define SCAN_COLUMNS_MAX 256u /* of a record, that are looked at */

struct database_scan;

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

/* Of the row at hand; columns as they lie in the record, below those that are looked at. */
int64_t database_scan_id(const struct database_scan *scan);
int64_t database_scan_number(const struct database_scan *scan, unsigned column, int64_t none);
struct text database_scan_text(const struct database_scan *scan, unsigned column); /* valid until the next row */
struct text database_scan_blob(const struct database_scan *scan, unsigned column); /* likewise */

#endif
