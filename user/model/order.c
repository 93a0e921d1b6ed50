/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stable merge sort that leaves alone what is in order: most of a log is. */
#include "model/order.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"

#define RUN 32		  /* keys that are sorted by insertion first */
#define ITEM_SIZE_MAX 256 /* of elements moved */

static void insertion_sort(struct order_key *keys, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct order_key key = keys[i];
		size_t at = i;

		for (; at > 0 && keys[at - 1].time_ns > key.time_ns; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* How many of the keys in order are not later than this, or are earlier. */
static size_t count_until(const struct order_key *keys, size_t count, uint64_t time_ns, bool included)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (keys[middle].time_ns < time_ns || (included && keys[middle].time_ns == time_ns))
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Merges keys[0..middle) with keys[middle..count), of which only what overlaps is looked at, and the left half of that
 * copied. */
static void merge(struct order_key *keys, size_t middle, size_t count, struct order_key *spare)
{
	size_t left = 0, right, out = 0, first;

	if (keys[middle - 1].time_ns <= keys[middle].time_ns)
		return;
	first = count_until(keys, middle, keys[middle].time_ns, true);
	count = middle + count_until(keys + middle, count - middle, keys[middle - 1].time_ns, false);
	keys += first;
	right = middle -= first;
	count -= first;
	memcpy(spare, keys, middle * sizeof(*keys));
	while (left < middle && right < count)
		keys[out++] = keys[right].time_ns < spare[left].time_ns ? keys[right++] : spare[left++];
	memcpy(keys + out, spare + left, (middle - left) * sizeof(*keys));
}

void order_sort(struct order_key *keys, size_t count)
{
	struct order_key *spare;
	size_t sorted = 1;

	while (sorted < count && keys[sorted - 1].time_ns <= keys[sorted].time_ns)
		sorted++;
	if (sorted >= count)
		return;
	for (size_t i = 0; i < count; i += RUN)
		insertion_sort(keys + i, count - i < RUN ? count - i : RUN);
	spare = xmalloc(count * sizeof(*spare));
	for (size_t width = RUN; width < count; width *= 2)
		for (size_t i = 0; i + width < count; i += 2 * width)
			merge(keys + i, width, count - i < 2 * width ? count - i : 2 * width, spare);
	free(spare);
}

void order_apply(struct order_key *keys, size_t count, void *items, size_t item_size)
{
	char *base = items, held[ITEM_SIZE_MAX];

	if (item_size > sizeof(held))
		abort();
	/* each cycle of the permutation is walked once; an index that points at itself is done */
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		if (keys[i].index == i)
			continue;
		memcpy(held, base + i * item_size, item_size);
		while (keys[at].index != i) {
			size_t from = keys[at].index;

			memcpy(base + at * item_size, base + from * item_size, item_size);
			keys[at].index = (uint32_t)at;
			at = from;
		}
		memcpy(base + at * item_size, held, item_size);
		keys[at].index = (uint32_t)at;
	}
}

static uint64_t time_of(const void *items, size_t index, size_t item_size, size_t time_at)
{
	uint64_t time_ns;

	memcpy(&time_ns, (const char *)items + index * item_size + time_at, sizeof(time_ns));
	return time_ns;
}

size_t order_count_before(const void *items, size_t count, size_t item_size, size_t time_at, uint64_t time_ns)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (time_of(items, middle, item_size, time_at) < time_ns)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

void order_by_time(void *items, size_t count, size_t item_size, size_t time_at)
{
	struct order_key *keys;

	if (!count)
		return;
	keys = xmalloc(count * sizeof(*keys));
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.time_ns = time_of(items, i, item_size, time_at), .index = (uint32_t)i};
	order_sort(keys, count);
	order_apply(keys, count, items, item_size);
	free(keys);
}
