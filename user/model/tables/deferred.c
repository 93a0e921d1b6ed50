/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/deferred.h"

#include <stdlib.h>

#include "base/order.h"

/* Events at the same time keep their order. */
static int by_time(const void *left, const void *right, void *list)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct deferred_event *all = list;

	return least_first(all[a].time_ns, all[b].time_ns) ?: least_first(a, b);
}

void deferred_events_sort(struct deferred_events *deferred)
{
	size_t count = deferred->list.count;
	AUTO_FREE uint32_t *order = xmalloc(count * sizeof(*order));
	struct deferred_event *sorted = xmalloc(count * sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_time, deferred->list.items);
	for (size_t i = 0; i < count; i++)
		sorted[i] = deferred->list.items[order[i]];
	free(deferred->list.items);
	deferred->list.items = sorted;
	deferred->list.capacity = count;
}
