/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of a record, and records in more than one page: https://www.sqlite.org/fileformat2.html; see database_scan.h.
 */
#include "input/database_scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/read_at.h"
#include "input/database_pages.h"

#define SAME_HEADER_MAX 32u /* bytes */

struct database_scan {
	struct database_pages pages;
	enum scan_result state; /* SCAN_ROW: may go on */

	struct scan_row row;
	uint8_t *joined; /* a record that is in more than one page */
	size_t joined_capacity;
	uint64_t may_join; /* bytes: pages of one record are no other's */
	unsigned columns;
	/* The header that row.at and row.type are of: most rows of a table have that of the one before. */
	uint8_t header[SAME_HEADER_MAX];
	size_t header_bytes, values_bytes; /* header_bytes 0: none; values_bytes: the whole record */
};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static size_t value_bytes(uint32_t type)
{
	static const uint8_t fixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

	return type >= 12 ? (type - 12) / 2 : fixed[type];
}

/* Whether the record's values lie as those of the row before. */
static bool is_like_before(const struct database_scan *scan, const uint8_t *record, size_t bytes)
{
	return scan->header_bytes && bytes == scan->values_bytes && !memcmp(record, scan->header, scan->header_bytes);
}

static void remember_header(struct database_scan *scan, const uint8_t *record, size_t header, size_t bytes)
{
	scan->header_bytes = header <= SAME_HEADER_MAX ? header : 0;
	scan->values_bytes = bytes;
	memcpy(scan->header, record, scan->header_bytes);
}

/* Where its values lie; false: they do not. */
static bool take_record(struct database_scan *scan, const uint8_t *record, size_t bytes)
{
	const uint8_t *at, *end;
	uint64_t header, type, value;
	unsigned size, column = 0;

	scan->row.record = record;
	if (is_like_before(scan, record, bytes))
		return true;
	scan->header_bytes = 0;
	size = database_varint(record, record + bytes, &header);
	if (!size || header < size || header > bytes)
		return false;
	at = record + size;
	end = record + header;
	value = header;
	for (; column < scan->columns && at < end; column++) {
		type = *at;
		if (type < 0x80)
			at++;
		else if (!(size = database_varint(at, end, &type)))
			return false;
		else
			at += size;
		if (type > UINT32_MAX || type == 10 || type == 11)
			return false;
		scan->row.type[column] = (uint32_t)type;
		scan->row.at[column] = (uint32_t)value;
		value += value_bytes((uint32_t)type);
		if (value > bytes)
			return false;
	}
	/* a column that was added later has a value of its own, which libsqlite3 knows */
	if (column < scan->columns || (at == end && value != bytes))
		return false;
	remember_header(scan, record, header, bytes);
	return true;
}

static const uint8_t *join(struct database_scan *scan, const uint8_t *cell, size_t local, size_t bytes)
{
	uint32_t number = big32(cell + local);
	size_t used = local;
	uint8_t next[4];

	if (bytes > scan->may_join)
		return NULL;
	scan->may_join -= bytes;
	scan->joined = array_reserve(scan->joined, 1, 0, bytes, &scan->joined_capacity);
	memcpy(scan->joined, cell, local);
	while (used < bytes) {
		uint64_t at = (uint64_t)(number - 1) * scan->pages.page_bytes;
		size_t some = bytes - used < scan->pages.usable - 4 ? bytes - used : scan->pages.usable - 4;

		if (number < 2 || read_at(scan->pages.fd, next, 4, at) != 4 ||
		    read_at(scan->pages.fd, scan->joined + used, some, at + 4) != (int64_t)some)
			return NULL;
		number = big32(next);
		used += some;
	}
	return scan->joined;
}

enum scan_result database_scan_next(struct database_scan *scan)
{
	const struct database_cell *cell;
	const uint8_t *record;
	size_t local;

	if (scan->state != SCAN_ROW)
		return scan->state;
	cell = database_pages_next(&scan->pages);
	if (!cell)
		return scan->state = scan->pages.odd ? SCAN_ODD : SCAN_END;
	record = scan->pages.leaf + cell->at;
	local = database_local_bytes(&scan->pages, cell->payload);
	if (local < cell->payload)
		record = join(scan, record, local, cell->payload);
	if (!record || !take_record(scan, record, cell->payload))
		return scan->state = SCAN_ODD;
	scan->row.id = cell->id;
	return SCAN_ROW;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

const struct scan_row *database_scan_row(const struct database_scan *scan)
{
	return &scan->row;
}

int64_t scan_row_long_number(const struct scan_row *row, unsigned column, int64_t none)
{
	const uint8_t *bytes = row->record + row->at[column];

	switch (row->type[column]) {
	case 1:
		return (int8_t)bytes[0];
	case 2:
		return (int16_t)big16(bytes);
	case 3:
		return (int32_t)(big16(bytes) << 16 | (uint32_t)bytes[2] << 8) >> 8;
	case 4:
		return (int32_t)big32(bytes);
	case 5:
		return (int64_t)((uint64_t)(uint16_t)big16(bytes) << 48 | (uint64_t)big32(bytes + 2) << 16) >> 16;
	case 6:
		return (int64_t)((uint64_t)big32(bytes) << 32 | big32(bytes + 4));
	case 8:
		return 0;
	case 9:
		return 1;
	default:
		return none;
	}
}

static struct text value_of(const struct scan_row *row, unsigned column, bool is_text)
{
	uint32_t type = row->type[column];
	size_t size = type >= 12 && (type & 1) == is_text ? value_bytes(type) : 0;

	return (struct text){size ? (const char *)row->record + row->at[column] : "", size};
}

struct text scan_row_text(const struct scan_row *row, unsigned column)
{
	return value_of(row, column, true);
}

struct text scan_row_blob(const struct scan_row *row, unsigned column)
{
	return value_of(row, column, false);
}

/* ------------------------------------------------------------------------------------------------------------------ */

struct database_scan *database_scan_new(int fd, uint32_t root, unsigned columns, uint32_t value_max)
{
	struct database_scan *scan;
	struct stat stat;

	if (columns > SCAN_COLUMNS_MAX || fstat(fd, &stat) < 0)
		return NULL;
	scan = xcalloc(1, sizeof(*scan));
	scan->may_join = (uint64_t)stat.st_size;
	scan->columns = columns;
	if (database_pages_open(&scan->pages, fd, root, value_max))
		return scan;
	free(scan);
	return NULL;
}

void database_scan_free(struct database_scan *scan)
{
	if (!scan)
		return;
	database_pages_close(&scan->pages);
	free(scan->joined);
	free(scan);
}
