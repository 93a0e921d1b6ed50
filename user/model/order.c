/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stable merge sort of runs that are in order or in reverse order, as most of a log is, buffer by buffer. */
#include "model/order.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"

#define RUN 32		  /* keys: shorter runs are extended to this by insertion sort */
#define ITEM_SIZE_MAX 256 /* of elements moved */

/* The first `sorted` keys are in order. */
static void insertion_sort(struct order_key *keys, size_t sorted, size_t count)
{
	for (size_t i = sorted; i < count; i++) {
		struct order_key key = keys[i];
		size_t at = i;

		for (; at > 0 && keys[at - 1].time_ns > key.time_ns; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* How many of the sorted keys are earlier than time_ns, or with `included` not later. */
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

/*
 * Merges keys[0..middle) with keys[middle..count).  Visits only the overlapping keys, and copies only their left half.
 */
static void merge_halves(struct order_key *keys, size_t middle, size_t count, struct order_key *spare)
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

static void reverse_order(struct order_key *keys, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct order_key key = keys[i];

		keys[i] = keys[count - 1 - i];
		keys[count - 1 - i] = key;
	}
}

/* The length of the first run, in order or in strictly reverse order; reverses the latter. */
static size_t find_run(struct order_key *keys, size_t count)
{
	size_t run = 1;

	while (run < count && keys[run].time_ns < keys[run - 1].time_ns)
		run++;
	if (run > 1) {
		reverse_order(keys, run);
		return run;
	}
	while (run < count && keys[run - 1].time_ns <= keys[run].time_ns)
		run++;
	return run;
}

/* Sorts the first keys and returns the length of that run: at least RUN, if there are as many keys. */
static size_t make_run(struct order_key *keys, size_t count)
{
	size_t run = find_run(keys, count);

	if (run >= RUN || run == count)
		return run;
	insertion_sort(keys, run, count < RUN ? count : RUN);
	return count < RUN ? count : RUN;
}

/* Merges neighbouring runs; ends: end of each run.  Returns how many runs remain. */
static size_t merge_runs(struct order_key *keys, size_t *ends, size_t runs, struct order_key *spare)
{
	size_t begin = 0, left = 0;

	for (size_t i = 0; i < runs; i += 2) {
		size_t end = ends[i + 1 < runs ? i + 1 : i];

		if (i + 1 < runs)
			merge_halves(keys + begin, ends[i] - begin, end - begin, spare);
		ends[left++] = begin = end;
	}
	return left;
}

void order_sort(struct order_key *keys, size_t count)
{
	size_t end = count ? make_run(keys, count) : 0, runs = 0, *ends;
	AUTO_FREE struct order_key *spare = NULL;

	if (end == count)
		return;
	ends = xmalloc((count / RUN + 2) * sizeof(*ends));
	for (ends[runs++] = end; end < count; ends[runs++] = end)
		end += make_run(keys + end, count - end);
	spare = xmalloc(count * sizeof(*spare));
	while (runs > 1)
		runs = merge_runs(keys, ends, runs, spare);
	free(ends);
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
	AUTO_FREE struct order_key *keys = NULL;

	if (!count)
		return;
	keys = xmalloc(count * sizeof(*keys));
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.time_ns = time_of(items, i, item_size, time_at), .index = (uint32_t)i};
	order_sort(keys, count);
	order_apply(keys, count, items, item_size);
}
