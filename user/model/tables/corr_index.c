/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/corr_index.h"

#include <string.h>

void corr_index_free(struct corr_index *index)
{
	lookup_free(&index->by_number);
	array_free(&index->pages);
}

bool corr_index_turn(struct corr_index *index, uint32_t epoch, uint32_t number)
{
	const uint32_t *page = lookup_get(&index->by_number, epoch, number);

	if (page)
		index->latest = *page;
	return page;
}

static void add_page(struct corr_index *index, uint32_t epoch, uint32_t number)
{
	struct corr_page made = {.epoch = epoch, .number = number};

	memset(made.values, 0xff, sizeof(made.values));
	array_push(&index->pages, made);
}

uint32_t *corr_index_put(struct corr_index *index, uint32_t epoch, uint32_t corr, uint32_t initial)
{
	uint32_t number = corr / CORR_PAGE, next = (uint32_t)index->pages.count, *value;

	if (!corr_index_is_latest(index, epoch, number)) {
		index->latest = *lookup_put(&index->by_number, epoch, number, next);
		if (index->latest == next)
			add_page(index, epoch, number);
	}
	value = &index->pages.items[index->latest].values[corr % CORR_PAGE];
	if (*value == UINT32_MAX)
		*value = initial;
	return value;
}

/* False: the page is now empty. */
static bool move_page(struct corr_page *page, const uint32_t *places)
{
	bool any = false;

	for (uint32_t i = 0; i < CORR_PAGE; i++) {
		if (page->values[i] != UINT32_MAX)
			page->values[i] = places[page->values[i]];
		any |= page->values[i] != UINT32_MAX;
	}
	return any;
}

void corr_index_move(struct corr_index *index, const uint32_t *places)
{
	uint32_t kept = 0;

	lookup_empty(&index->by_number);
	for (size_t i = 0; i < index->pages.count; i++) {
		struct corr_page *page = &index->pages.items[i];

		if (!move_page(page, places))
			continue;
		lookup_put(&index->by_number, page->epoch, page->number, kept);
		if (kept < i)
			index->pages.items[kept] = *page;
		kept++;
	}
	index->pages.count = kept;
}
