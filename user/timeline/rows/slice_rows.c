/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A slice goes to the first free row. */
#include "timeline/rows/slice_rows.h"

static uint32_t add_row(struct slice_rows *rows, struct tally_key key, uint32_t first, uint32_t number)
{
	uint32_t index = (uint32_t)rows->all.count;
	struct slice_row row = {.key = key, .number = number, .first = number ? first : index, .next = ROW_NONE};

	array_push(&rows->all, row);
	return index;
}

uint32_t slice_rows_reserve(struct slice_rows *rows, struct tally_key key)
{
	struct tally_entry *entry = tally_at(&rows->by_key, key);

	if (!entry->more)
		entry->more = add_row(rows, key, 0, 0) + 1u;
	return (uint32_t)entry->more - 1;
}

uint32_t slice_rows_place(struct slice_rows *rows, struct tally_key key, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t first = slice_rows_reserve(rows, key), at = first;

	while (rows->all.items[at].last_end_ns > start_ns) {
		uint32_t next = rows->all.items[at].next, number = rows->all.items[at].number + 1;

		if (next == ROW_NONE) {
			if (number >= ROWS_MAX)
				return ROW_NONE;
			next = add_row(rows, key, first, number);
			rows->all.items[at].next = next;
		}
		at = next;
	}
	rows->all.items[at].last_end_ns = end_ns;
	return at;
}

uint32_t slice_rows_first(struct slice_rows *rows, struct tally_key key)
{
	const struct tally_entry *entry = tally_at(&rows->by_key, key);

	return entry->more ? (uint32_t)entry->more - 1 : ROW_NONE;
}

void slice_rows_free(struct slice_rows *rows)
{
	array_free(&rows->all);
	tally_free(&rows->by_key);
}

void placed_begin(struct placed *placed, uint32_t from, uint32_t end)
{
	placed->from = from;
	placed->end = end;
	placed->row_of = array_reserve(placed->row_of, sizeof(*placed->row_of), 0, end - from, &placed->room);
	for (uint32_t i = 0; i < end - from; i++)
		placed->row_of[i] = ROW_NONE;
}
