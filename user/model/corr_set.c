/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/corr_set.h"

void corr_set_free(struct corr_set *set)
{
	array_free_items(&set->by_id);
	set->pages = 0;
}

void corr_set_give_up(struct corr_set *set)
{
	set->repeated = true;
	corr_set_free(set);
}

/* Ids in a range below CORR_SET_RANGE_MAX need at most CORR_SET_PAGES pages, plus one. */
static struct corr_set_page **page_of(struct corr_set *set, uint32_t corr)
{
	uint32_t at = (corr >> CORR_SET_PAGE_BITS) % (CORR_SET_PAGES * 2);

	while (set->by_id.count <= at)
		array_push(&set->by_id, NULL);
	return &set->by_id.items[at];
}

bool corr_set_add(struct corr_set *set, uint32_t corr)
{
	uint32_t at = corr & ((1u << CORR_SET_PAGE_BITS) - 1);
	struct corr_set_page **page;
	uint64_t bit = 1ull << (at % 64);
	bool is_new;

	if (!set->lowest || corr < set->lowest)
		set->lowest = corr;
	if (corr > set->highest)
		set->highest = corr;
	if (set->highest - set->lowest >= CORR_SET_RANGE_MAX && !set->repeated)
		corr_set_give_up(set);
	if (set->repeated && !set->pages)
		return false;
	page = page_of(set, corr);
	if (!*page) {
		*page = xcalloc(1, sizeof(**page));
		set->pages++;
	}
	is_new = !((*page)->bits[at / 64] & bit);
	(*page)->bits[at / 64] |= bit;
	return is_new;
}
