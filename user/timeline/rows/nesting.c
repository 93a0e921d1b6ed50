/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slices of a track mostly come in order, so they are distributed to tracks before sorting. */
#include "timeline/rows/nesting.h"

/* Counts slices by track, and turns the counts into start indices. */
static void find_begins(struct nesting *nesting)
{
	size_t begin = 0;

	nesting->ends.count = 0;
	for (size_t i = 0; i < nesting->slices.count; i++) {
		while (nesting->ends.count <= nesting->slices.items[i].track)
			array_push(&nesting->ends, 0);
		nesting->ends.items[nesting->slices.items[i].track]++;
	}
	for (size_t track = 0; track < nesting->ends.count; track++) {
		size_t count = nesting->ends.items[track];

		nesting->ends.items[track] = begin;
		begin += count;
	}
}

/* Distributes slices to tracks; turns start indices into ends. */
static void deal_out(struct nesting *nesting)
{
	for (size_t i = 0; i < nesting->slices.count; i++) {
		const struct nested *slice = &nesting->slices.items[i];

		nesting->order[nesting->ends.items[slice->track]++] =
			(struct order_key){.time_ns = slice->start_ns, .index = (uint32_t)i};
	}
}

/* Sorts slices with equal starts, longer ones first. */
static void sort_equal(const struct nesting *nesting, struct order_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		keys[i].time_ns = UINT64_MAX - nesting->slices.items[keys[i].index].end_ns;
	order_sort(keys, count);
}

static void sort_track(const struct nesting *nesting, struct order_key *keys, size_t count)
{
	order_sort(keys, count);
	for (size_t begin = 0, end; begin < count; begin = end) {
		uint64_t start_ns = keys[begin].time_ns;

		for (end = begin + 1; end < count && keys[end].time_ns == start_ns; end++)
			;
		if (end - begin > 1)
			sort_equal(nesting, keys + begin, end - begin);
	}
}

void nesting_sort(struct nesting *nesting)
{
	size_t begin = 0;

	nesting->order =
		array_reserve(nesting->order, sizeof(*nesting->order), 0, nesting->slices.count, &nesting->order_room);
	find_begins(nesting);
	deal_out(nesting);
	for (size_t track = 0; track < nesting->ends.count; track++) {
		sort_track(nesting, nesting->order + begin, nesting->ends.items[track] - begin);
		begin = nesting->ends.items[track];
	}
}

void nesting_free(struct nesting *nesting)
{
	array_free(&nesting->slices);
	array_free(&nesting->ends);
	free(nesting->order);
	nesting->order = NULL;
	nesting->order_room = 0;
}
