/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree of pages that a table is, and the cells of its leaves, by SQLite's published file format; for
 * database_scan.c.  A page is looked at whole before a cell of it is given.
 */
#ifndef GPUTRACE_INPUT_DATABASE_PAGES_H
#define GPUTRACE_INPUT_DATABASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATABASE_DEPTH_MAX 20u /* as libsqlite3 */

/* Of a leaf, where its rows' records lie in it. */
struct database_cell {
	int64_t id;
	uint32_t at, payload; /* payload: bytes of the record, also where not all of it is in the cell */
};

struct database_interior {
	uint8_t *page;
	unsigned cells, next; /* next: the child that is visited next; the last one has no cell */
};

struct database_pages {
	int fd;
	uint32_t page_bytes, usable, root;
	uint32_t pages; /* that the file has */
	uint32_t value_max;
	uint8_t *window;
	uint64_t window_at;
	size_t window_used, ahead;
	struct database_interior interiors[DATABASE_DEPTH_MAX];
	unsigned depth;	     /* of interiors */
	const uint8_t *leaf; /* in the window; NULL: none at hand */
	struct database_cell *leaf_cells;
	unsigned cells, next; /* of the leaf */
	bool odd;	      /* from now on there are no cells */
};

/* Of the table that begins at a page; value_max: bytes of a row.  False: not one that is read here.  fd stays the
 * caller's. */
bool database_pages_open(struct database_pages *pages, int fd, uint32_t root, uint32_t value_max);
void database_pages_close(struct database_pages *pages);

/* The next cell, in pages->leaf; NULL: there are no more, or, where pages->odd, something is not as usual. */
const struct database_cell *database_pages_next(struct database_pages *pages);

/* Bytes of a payload that are in the cell itself. */
uint32_t database_local_bytes(const struct database_pages *pages, uint64_t payload);

/* Up to 9 bytes, of which the last has 8 bits; returns how many, 0: they go beyond the end. */
unsigned database_varint(const uint8_t *at, const uint8_t *end, uint64_t *value);

static inline uint32_t big16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t big32(const uint8_t *bytes)
{
	return big16(bytes) << 16 | big16(bytes + 2);
}

#endif
