/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorting of large, nearly sorted arrays by time, and moving their elements into that order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct order_key {
	uint64_t time_ns;
	uint32_t index; /* of the element before sorting */
};

/* Sorts by time; equal times keep their order.  Takes one pass if the keys are already in order. */
void order_sort(struct order_key *keys, size_t count);

/* Sorts and moves elements that have a time (uint64_t) at the offset time_at. */
void order_by_time(void *items, size_t count, size_t item_size, size_t time_at);

/* How many of the elements, which are in order, have a time before time_ns. */
size_t order_count_before(const void *items, size_t count, size_t item_size, size_t time_at, uint64_t time_ns);

/* Moves elements so that element i is the one that was at keys[i].index.  Overwrites the indices. */
void order_apply(struct order_key *keys, size_t count, void *items, size_t item_size);
