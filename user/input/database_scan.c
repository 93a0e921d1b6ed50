/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages of a B-tree, cells of a page, values of a record: https://www.sqlite.org/fileformat2.html; see database_scan.h.
 */
#include "input/database_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

/* The file's header. */
#define HEADER_BYTES 100
#define PAGE_BYTES_AT 16 /* 1: 65,536 */
#define RESERVED_AT 20	 /* bytes at the end of each page */
#define CHANGES_AT 24
#define PAGES_AT 28 /* of the file; only where the next agrees with CHANGES_AT */
#define PAGES_OF_CHANGE_AT 92
#define ENCODING_AT 56
#define ENCODING_UTF8 1
#define USABLE_MIN 480u

/* A page of a table's tree. */
#define INTERIOR 0x05
#define LEAF 0x0d
#define LAST_CHILD_AT 8
#define LEAF_HEADER 8u
#define INTERIOR_HEADER 12u
#define CELL_MIN 6 /* bytes: no page has more cells than it has of these, less its header */

#define DEPTH_MAX 20u		  /* as libsqlite3 */
#define WINDOW_BYTES (128u << 10) /* read ahead at most */

struct interior {
	uint8_t *page;
	unsigned cells, next; /* next: the child that is visited next; the last one has no cell */
};

struct database_scan {
	int fd;
	uint32_t page_bytes, usable, root;
	uint32_t pages; /* that the file has */
	uint32_t value_max;
	uint8_t *window;
	uint64_t window_at;
	size_t window_used, ahead;
	struct interior interiors[DEPTH_MAX];
	unsigned depth;	     /* of interiors */
	const uint8_t *leaf; /* in the window; NULL: none at hand */
	unsigned cells, next;
	enum scan_result state; /* SCAN_ROW: may go on */

	int64_t id;
	const uint8_t *record;
	uint8_t *joined; /* a record that is in more than one page */
	size_t joined_capacity;
	uint64_t may_join;	 /* bytes: pages of one record are no other's */
	unsigned columns, known; /* known: as many the record has, of those that are looked at */
	uint32_t at[SCAN_COLUMNS_MAX], type[SCAN_COLUMNS_MAX];
};

static uint32_t big16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t big32(const uint8_t *bytes)
{
	return big16(bytes) << 16 | big16(bytes + 2);
}

/* Up to 9 bytes, of which the last has 8 bits; returns how many, 0: they go beyond the end. */
static unsigned read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t read = 0;

	for (unsigned i = 0; at + i < end; i++) {
		if (i == 8) {
			*value = read << 8 | at[i];
			return 9;
		}
		read = read << 7 | (at[i] & 0x7f);
		if (!(at[i] & 0x80)) {
			*value = read;
			return i + 1;
		}
	}
	return 0;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* What is beyond the end reads as 0; returns how much is there, -1: the file cannot be read. */
static ssize_t read_at(int fd, uint8_t *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, to + done, size - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	memset(to + done, 0, size - done);
	return (ssize_t)done;
}

/* Valid until the next one; NULL: there is none. */
static const uint8_t *page_of(struct database_scan *scan, uint32_t number)
{
	uint64_t at = (uint64_t)(number - 1) * scan->page_bytes;

	if (number < 2 || number > scan->pages) /* the first has the file's header in front */
		return NULL;
	if (at < scan->window_at || at + scan->page_bytes > scan->window_at + scan->window_used) {
		bool is_near = at >= scan->window_at && at < scan->window_at + 2 * scan->window_used;
		ssize_t got;

		/* more and more where pages follow each other, no more than one where they lie anywhere */
		scan->ahead = !is_near			       ? scan->page_bytes
			      : 2 * scan->ahead < WINDOW_BYTES ? 2 * scan->ahead
							       : WINDOW_BYTES;
		got = read_at(scan->fd, scan->window, scan->ahead, at);
		scan->window_at = at;
		scan->window_used = got > 0 ? (size_t)got : 0;
	}
	return at + scan->page_bytes <= scan->window_at + scan->window_used ? scan->window + (at - scan->window_at)
									    : NULL;
}

/* Bytes of a payload that are in the cell itself. */
static uint32_t local_bytes(const struct database_scan *scan, uint64_t payload)
{
	uint32_t most = scan->usable - 35, least = (scan->usable - 12) * 32 / 255 - 23;
	uint64_t local;

	if (payload <= most)
		return (uint32_t)payload;
	local = least + (payload - least) % (scan->usable - 4);
	return local <= most ? (uint32_t)local : least;
}

/* A cell of a leaf; 0: it goes beyond the page. */
static size_t cell_bytes(const struct database_scan *scan, const uint8_t *cell, const uint8_t *end, uint64_t *payload,
			 uint64_t *id, size_t *head)
{
	unsigned length = read_varint(cell, end, payload);
	unsigned number = length ? read_varint(cell + length, end, id) : 0;
	size_t size;

	if (!number || *payload > scan->value_max)
		return 0;
	*head = length + number;
	size = *head + local_bytes(scan, *payload);
	if (local_bytes(scan, *payload) < *payload)
		size += 4;
	return size <= (size_t)(end - cell) ? size : 0;
}

static bool is_whole(const struct database_scan *scan, const uint8_t *page, unsigned header, unsigned cells)
{
	const uint8_t *end = page + scan->usable;
	unsigned first = header + 2 * cells;

	if (cells > (scan->page_bytes - 8) / CELL_MIN || first > scan->usable)
		return false;
	for (unsigned i = 0; i < cells; i++) {
		unsigned at = big16(page + header + 2 * i);
		uint64_t payload, id;
		size_t head;

		if (at < first || at + 4 > scan->usable)
			return false;
		if (header == INTERIOR_HEADER ? at + 4 >= scan->usable || !read_varint(page + at + 4, end, &id)
					      : !cell_bytes(scan, page + at, end, &payload, &id, &head))
			return false;
	}
	return true;
}

static enum scan_result odd(struct database_scan *scan)
{
	return scan->state = SCAN_ODD;
}

/* Down to the leaf that is furthest to the left of a page. */
static bool descend(struct database_scan *scan, uint32_t number)
{
	for (;;) {
		const uint8_t *page = page_of(scan, number);
		struct interior *interior = &scan->interiors[scan->depth];
		unsigned cells;

		if (!page || (page[0] != LEAF && page[0] != INTERIOR))
			return false;
		cells = big16(page + 3);
		if ((scan->depth && !cells) ||
		    !is_whole(scan, page, page[0] == LEAF ? LEAF_HEADER : INTERIOR_HEADER, cells))
			return false;
		if (page[0] == LEAF) {
			scan->leaf = page;
			scan->cells = cells;
			scan->next = 0;
			return true;
		}
		if (scan->depth == DEPTH_MAX || !cells)
			return false;
		if (!interior->page)
			interior->page = xmalloc(scan->page_bytes);
		memcpy(interior->page, page, scan->page_bytes);
		interior->cells = cells;
		interior->next = 1;
		scan->depth++;
		number = big32(interior->page + big16(interior->page + INTERIOR_HEADER));
	}
}

static enum scan_result next_leaf(struct database_scan *scan)
{
	while (scan->depth) {
		struct interior *interior = &scan->interiors[scan->depth - 1];
		unsigned child = interior->next++;
		const uint8_t *page = interior->page;

		if (child > interior->cells)
			scan->depth--;
		else if (!descend(scan,
				  big32(child == interior->cells ? page + LAST_CHILD_AT
								 : page + big16(page + INTERIOR_HEADER + 2 * child))))
			return odd(scan);
		else
			return SCAN_ROW;
	}
	return scan->state = SCAN_END;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static size_t value_bytes(uint32_t type)
{
	static const uint8_t fixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

	return type >= 12 ? (type - 12) / 2 : fixed[type];
}

/* Where its values lie; false: they do not. */
static bool take_record(struct database_scan *scan, const uint8_t *record, size_t bytes)
{
	const uint8_t *at, *end;
	uint64_t header, type, value;
	unsigned size = read_varint(record, record + bytes, &header), column = 0;

	if (!size || header < size || header > bytes)
		return false;
	at = record + size;
	end = record + header;
	value = header;
	for (; column < scan->columns && at < end; column++) {
		type = *at;
		if (type < 0x80)
			at++;
		else if (!(size = read_varint(at, end, &type)))
			return false;
		else
			at += size;
		if (type > UINT32_MAX || type == 10 || type == 11)
			return false;
		scan->type[column] = (uint32_t)type;
		scan->at[column] = (uint32_t)value;
		value += value_bytes((uint32_t)type);
		if (value > bytes)
			return false;
	}
	/* a column that was added later has a value of its own, which libsqlite3 knows */
	if (column < scan->columns || (at == end && value != bytes))
		return false;
	scan->record = record;
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
		uint64_t at = (uint64_t)(number - 1) * scan->page_bytes;
		size_t some = bytes - used < scan->usable - 4 ? bytes - used : scan->usable - 4;

		if (number < 2 || read_at(scan->fd, next, 4, at) != 4 ||
		    read_at(scan->fd, scan->joined + used, some, at + 4) != (ssize_t)some)
			return NULL;
		number = big32(next);
		used += some;
	}
	return scan->joined;
}

enum scan_result database_scan_next(struct database_scan *scan)
{
	const uint8_t *cell, *record;
	uint64_t payload, id;
	size_t head, local;

	if (scan->state != SCAN_ROW)
		return scan->state;
	if (!scan->leaf && !descend(scan, scan->root))
		return odd(scan);
	while (scan->next == scan->cells)
		if (next_leaf(scan) != SCAN_ROW)
			return scan->state;
	cell = scan->leaf + big16(scan->leaf + LEAF_HEADER + 2 * scan->next);
	if (!cell_bytes(scan, cell, scan->leaf + scan->usable, &payload, &id, &head))
		return odd(scan);
	record = cell + head;
	local = local_bytes(scan, payload);
	if (local < payload)
		record = join(scan, record, local, payload);
	if (!record || !take_record(scan, record, payload))
		return odd(scan);
	scan->id = (int64_t)id;
	scan->next++;
	return SCAN_ROW;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int64_t database_scan_id(const struct database_scan *scan)
{
	return scan->id;
}

int64_t database_scan_number(const struct database_scan *scan, unsigned column, int64_t none)
{
	const uint8_t *bytes = scan->record + scan->at[column];

	switch (scan->type[column]) {
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

static struct text value_of(const struct database_scan *scan, unsigned column, bool is_text)
{
	uint32_t type = scan->type[column];
	size_t size = type >= 12 && (type & 1) == is_text ? value_bytes(type) : 0;

	return (struct text){size ? (const char *)scan->record + scan->at[column] : "", size};
}

struct text database_scan_text(const struct database_scan *scan, unsigned column)
{
	return value_of(scan, column, true);
}

struct text database_scan_blob(const struct database_scan *scan, unsigned column)
{
	return value_of(scan, column, false);
}

/* ------------------------------------------------------------------------------------------------------------------ */

struct database_scan *database_scan_new(int fd, uint32_t root, unsigned columns, uint32_t value_max)
{
	uint8_t header[HEADER_BYTES];
	struct database_scan *scan;
	struct stat stat;
	uint32_t page, usable, pages;

	if (columns > SCAN_COLUMNS_MAX || fstat(fd, &stat) < 0 || stat.st_size <= 0 ||
	    read_at(fd, header, sizeof(header), 0) != sizeof(header))
		return NULL;
	page = big16(header + PAGE_BYTES_AT);
	if (page == 1)
		page = 65536;
	usable = page - header[RESERVED_AT];
	if (page < 512 || page > WINDOW_BYTES || (page & (page - 1)) || usable < USABLE_MIN ||
	    big32(header + ENCODING_AT) != ENCODING_UTF8)
		return NULL;
	pages = big32(header + PAGES_AT);
	if (!pages || memcmp(header + CHANGES_AT, header + PAGES_OF_CHANGE_AT, 4) != 0)
		pages = UINT32_MAX;
	scan = xcalloc(1, sizeof(*scan));
	*scan = (struct database_scan){.may_join = (uint64_t)stat.st_size,
				       .fd = fd,
				       .page_bytes = page,
				       .usable = usable,
				       .root = root,
				       .pages = pages,
				       .columns = columns,
				       .value_max = value_max};
	scan->window = xmalloc(WINDOW_BYTES);
	return scan;
}

void database_scan_free(struct database_scan *scan)
{
	if (!scan)
		return;
	for (unsigned i = 0; i < DEPTH_MAX; i++)
		free(scan->interiors[i].page);
	free(scan->window);
	free(scan->joined);
	free(scan);
}
