/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/rows/open_ranges.h"

const struct open_range *open_ranges_find(struct open_ranges *open, const struct model_span *range)
{
	size_t at = open->next;

	if (!range->continued)
		return NULL;
	while (at < open->before.count && open->before.items[at].thread < range->thread)
		at++;
	open->next = at;
	for (; at < open->before.count && open->before.items[at].thread == range->thread; at++)
		if (open->before.items[at].key == range->number) {
			open->next = at + 1;
			return &open->before.items[at];
		}
	return NULL;
}

void open_ranges_next_part(struct open_ranges *open)
{
	struct open_range *spare = open->before.items;
	size_t room = open->before.capacity;

	open->before.items = open->now.items;
	open->before.count = open->now.count;
	open->before.capacity = open->now.capacity;
	open->now.items = spare;
	open->now.count = 0;
	open->now.capacity = room;
	open->next = 0;
}

void open_ranges_free(struct open_ranges *open)
{
	array_free(&open->before);
	array_free(&open->now);
}
