/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/owned_spans.h"

#include <stdlib.h>

#include "base/order.h"

DEFINE_ORDER(compare_spans, struct owned_span, least_first(a->owner, b->owner) ?: least_first(a->start_ns, b->start_ns))

void owned_spans_merge(struct owned_spans *spans)
{
	struct owned_span *all = spans->items;
	size_t kept = 0;

	if (!spans->count)
		return;
	qsort(all, spans->count, sizeof(*all), compare_spans);
	for (size_t i = 1; i < spans->count; i++)
		if (all[i].owner != all[kept].owner || all[i].start_ns > all[kept].end_ns)
			all[++kept] = all[i];
		else if (all[i].end_ns > all[kept].end_ns)
			all[kept].end_ns = all[i].end_ns;
	spans->count = kept + 1;
}

bool owned_spans_have(const struct owned_spans *spans, uint32_t owner, uint64_t time_ns)
{
	const struct owned_span *all = spans->items, at = {.owner = owner, .start_ns = time_ns};
	size_t low = count_while(spans->count, i, compare_spans(&all[i], &at) <= 0);

	return low && all[low - 1].owner == owner && time_ns < all[low - 1].end_ns;
}
