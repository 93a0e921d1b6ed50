/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages of bits, made when the first of their numbers is added; see number_set.h. */
#include "base/number_set.h"

void number_set_add(struct number_set *set, uint64_t number)
{
	uint64_t at = number / NUMBER_PAGE, bit = number % NUMBER_PAGE;
	uint32_t *page;

	while (set->by_number.count <= at)
		array_push(&set->by_number, 0);
	page = &set->by_number.items[at];
	if (!*page) {
		array_push(&set->pages, ((struct number_page){{0}}));
		*page = (uint32_t)set->pages.count;
	}
	set->pages.items[*page - 1].bits[bit / 64] |= 1ull << (bit % 64);
}

void number_set_free(struct number_set *set)
{
	array_free(&set->by_number);
	array_free(&set->pages);
}
