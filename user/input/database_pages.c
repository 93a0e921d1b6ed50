/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages of a B-tree and cells of a page: https://www.sqlite.org/fileformat2.html; see database_pages.h. */
#include "input/database_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/read_at.h"

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

#define WINDOW_BYTES (128u << 10) /* read ahead at most */

unsigned database_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
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

/* Valid until the next one; NULL: there is none. */
static const uint8_t *page_of(struct database_pages *pages, uint32_t number)
{
	uint64_t at = (uint64_t)(number - 1) * pages->page_bytes;

	if (number < 2 || number > pages->pages) /* the first has the file's header in front */
		return NULL;
	if (at < pages->window_at || at + pages->page_bytes > pages->window_at + pages->window_used) {
		bool is_near = at >= pages->window_at && at < pages->window_at + 2 * pages->window_used;
		int64_t got;

		/* more and more where pages follow each other, no more than one where they lie anywhere */
		pages->ahead = !is_near				 ? pages->page_bytes
			       : 2 * pages->ahead < WINDOW_BYTES ? 2 * pages->ahead
								 : WINDOW_BYTES;
		got = read_at(pages->fd, pages->window, pages->ahead, at);
		pages->window_at = at;
		pages->window_used = got > 0 ? (size_t)got : 0;
	}
	return at + pages->page_bytes <= pages->window_at + pages->window_used ? pages->window + (at - pages->window_at)
									       : NULL;
}

uint32_t database_local_bytes(const struct database_pages *pages, uint64_t payload)
{
	uint32_t most = pages->usable - 35, least = (pages->usable - 12) * 32 / 255 - 23;
	uint64_t local;

	if (payload <= most)
		return (uint32_t)payload;
	local = least + (payload - least) % (pages->usable - 4);
	return local <= most ? (uint32_t)local : least;
}

/* A cell of a leaf; 0: it goes beyond the page. */
static size_t cell_bytes(const struct database_pages *pages, const uint8_t *cell, const uint8_t *end, uint64_t *payload,
			 uint64_t *id, size_t *head)
{
	unsigned length = database_varint(cell, end, payload);
	unsigned number = length ? database_varint(cell + length, end, id) : 0;
	size_t size;

	if (!number || *payload > pages->value_max)
		return 0;
	*head = length + number;
	size = *head + database_local_bytes(pages, *payload);
	if (database_local_bytes(pages, *payload) < *payload)
		size += 4;
	return size <= (size_t)(end - cell) ? size : 0;
}

/* Of a leaf finds where its records lie, too. */
static bool is_whole(struct database_pages *pages, const uint8_t *page, unsigned header, unsigned cells)
{
	const uint8_t *end = page + pages->usable;
	unsigned first = header + 2 * cells;

	if (cells > (pages->page_bytes - 8) / CELL_MIN || first > pages->usable)
		return false;
	for (unsigned i = 0; i < cells; i++) {
		unsigned at = big16(page + header + 2 * i);
		uint64_t payload, id;
		size_t head;

		if (at < first || at + 4 > pages->usable)
			return false;
		if (header == INTERIOR_HEADER) {
			if (at + 4 >= pages->usable || !database_varint(page + at + 4, end, &id))
				return false;
			continue;
		}
		if (!cell_bytes(pages, page + at, end, &payload, &id, &head))
			return false;
		pages->leaf_cells[i] = (struct database_cell){
			.id = (int64_t)id, .at = at + (uint32_t)head, .payload = (uint32_t)payload};
	}
	return true;
}

/* Down to the leaf that is furthest to the left of a page. */
static bool descend(struct database_pages *pages, uint32_t number)
{
	for (;;) {
		const uint8_t *page = page_of(pages, number);
		struct database_interior *interior = &pages->interiors[pages->depth];
		unsigned cells;

		if (!page || (page[0] != LEAF && page[0] != INTERIOR))
			return false;
		cells = big16(page + 3);
		if ((pages->depth && !cells) ||
		    !is_whole(pages, page, page[0] == LEAF ? LEAF_HEADER : INTERIOR_HEADER, cells))
			return false;
		if (page[0] == LEAF) {
			pages->leaf = page;
			pages->cells = cells;
			pages->next = 0;
			return true;
		}
		if (pages->depth == DATABASE_DEPTH_MAX || !cells)
			return false;
		if (!interior->page)
			interior->page = xmalloc(pages->page_bytes);
		memcpy(interior->page, page, pages->page_bytes);
		interior->cells = cells;
		interior->next = 1;
		pages->depth++;
		number = big32(interior->page + big16(interior->page + INTERIOR_HEADER));
	}
}

/* Of an interior page, from 0; the last child has no cell. */
static uint32_t child_of(const struct database_interior *interior, unsigned child)
{
	const uint8_t *page = interior->page;

	return big32(child == interior->cells ? page + LAST_CHILD_AT
					      : page + big16(page + INTERIOR_HEADER + 2 * child));
}

static bool next_leaf(struct database_pages *pages)
{
	while (pages->depth) {
		struct database_interior *interior = &pages->interiors[pages->depth - 1];
		unsigned child = interior->next++;

		if (child <= interior->cells) {
			pages->odd = !descend(pages, child_of(interior, child));
			return !pages->odd;
		}
		pages->depth--;
	}
	return false;
}

const struct database_cell *database_pages_next(struct database_pages *pages)
{
	if (pages->odd)
		return NULL;
	if (!pages->leaf && !descend(pages, pages->root)) {
		pages->odd = true;
		return NULL;
	}
	while (pages->next == pages->cells)
		if (!next_leaf(pages))
			return NULL;
	return &pages->leaf_cells[pages->next++];
}

bool database_pages_open(struct database_pages *pages, int fd, uint32_t root, uint32_t value_max)
{
	uint8_t header[HEADER_BYTES];
	struct stat stat;
	uint32_t page, usable, count;

	if (fstat(fd, &stat) < 0 || stat.st_size <= 0 || read_at(fd, header, sizeof(header), 0) != sizeof(header))
		return false;
	page = big16(header + PAGE_BYTES_AT);
	if (page == 1)
		page = 65536;
	usable = page - header[RESERVED_AT];
	if (page < 512 || page > WINDOW_BYTES || (page & (page - 1)) || usable < USABLE_MIN ||
	    big32(header + ENCODING_AT) != ENCODING_UTF8)
		return false;
	count = big32(header + PAGES_AT);
	if (!count || memcmp(header + CHANGES_AT, header + PAGES_OF_CHANGE_AT, 4) != 0)
		count = UINT32_MAX;
	*pages = (struct database_pages){
		.fd = fd, .page_bytes = page, .usable = usable, .root = root, .pages = count, .value_max = value_max};
	pages->window = xmalloc(WINDOW_BYTES);
	pages->leaf_cells = xmalloc((page / CELL_MIN + 1) * sizeof(*pages->leaf_cells));
	return true;
}

void database_pages_close(struct database_pages *pages)
{
	for (unsigned i = 0; i < DATABASE_DEPTH_MAX; i++)
		free(pages->interiors[i].page);
	free(pages->window);
	free(pages->leaf_cells);
}
