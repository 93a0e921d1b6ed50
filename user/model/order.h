/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorting of large, nearly sorted arrays by time, and moving their elements into that order. */
#ifndef GPUTRACE_ORDER_H
#define GPUTRACE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_key {
	uint64_t time_ns;
	uint32_t index; /* where the element is before sorting */
};

/* By time; equal times keep their order.  One pass where the keys are in order already. */
void order_sort(struct order_key *keys, size_t count);

/* Both, for elements with a time (uint64_t) at an offset. */
void order_by_time(void *items, size_t count, size_t item_size, size_t time_at);

/* How many of elements that are in order have a time before that. */
size_t order_count_before(const void *items, size_t count, size_t item_size, size_t time_at, uint64_t time_ns);

/* Moves elements so that element i is the one that was at keys[i].index.  Uses up the indices. */
void order_apply(struct order_key *keys, size_t count, void *items, size_t item_size);

#endif
