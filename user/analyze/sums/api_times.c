/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by API function and caller; makes functions and lines of them at the end. */
#include "analyze/sums/api_times.h"

#include <stdlib.h>

void api_times_free(struct api_times *times)
{
	tally_free(&times->callers);
	free(times->rows);
}

void api_times_add_call(struct api_times *times, const struct call_event *event)
{
	const struct model_call *call = event->call;
	bool timed = call->end_ns >= call->start_ns && call->end_ns;
	uint64_t ns = timed ? call->end_ns - call->start_ns : 0;
	struct tally_entry *sum = tally_at(&times->callers, (struct tally_key){{call->api, event->caller}});

	sum->ns += ns;
	sum->count++;
	sum->more += timed;
	times->ns += ns;
	times->returns += timed;
}

static int compare_counts(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int by_time(const void *left, const void *right)
{
	const struct api_row *a = left, *b = right;
	int order = compare_counts(a->ns, b->ns);

	if (!order)
		order = compare_counts(a->count, b->count);
	return order ? order : (a->api > b->api) - (a->api < b->api);
}

void api_times_finish(struct api_times *times, struct lines *lines)
{
	struct tally by_line = tally_by_line(lines, &times->callers, 1);
	struct tally rows = {0}; /* key: api; ns, count: of the line with most; more: index of the row + 1 */

	times->rows = xcalloc(by_line.count, sizeof(*times->rows));
	for (size_t i = 0; i < by_line.count; i++) {
		const struct tally_entry *sum = &by_line.entries[i];
		struct tally_entry *entry = tally_at(&rows, (struct tally_key){{sum->key.part[0]}});
		struct api_row *row;

		if (!entry->more)
			entry->more = ++times->count;
		row = &times->rows[entry->more - 1];
		if (!row->count || sum->ns > entry->ns || (sum->ns == entry->ns && sum->count > entry->count)) {
			entry->ns = sum->ns;
			entry->count = sum->count;
			row->line = sum->key.part[1];
		}
		row->api = (uint16_t)sum->key.part[0];
		row->ns += sum->ns;
		row->count += sum->count;
		row->returns += sum->more;
	}
	tally_free(&rows);
	tally_free(&by_line);
	/* without any return all times are 0: sorted by count */
	qsort(times->rows, times->count, sizeof(*times->rows), by_time);
}
