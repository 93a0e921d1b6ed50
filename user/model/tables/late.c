/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/late.h"

#include <stdlib.h>

/* What is at one time stays in its order. */
static int by_time(const void *left, const void *right, void *list)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct late *all = list;

	if (all[a].time_ns != all[b].time_ns)
		return all[a].time_ns < all[b].time_ns ? -1 : 1;
	return (a > b) - (a < b);
}

void lates_sort(struct lates *lates)
{
	size_t count = lates->list.count;
	uint32_t *order = xmalloc(count * sizeof(*order));
	struct late *sorted = xmalloc(count * sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_time, lates->list.items);
	for (size_t i = 0; i < count; i++)
		sorted[i] = lates->list.items[order[i]];
	free(order);
	free(lates->list.items);
	lates->list.items = sorted;
	lates->list.capacity = count;
}

void lates_free(struct lates *lates)
{
	array_free(&lates->list);
}
