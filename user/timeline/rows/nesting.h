/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order in which slices of a part nest.  A timeline hands slices over kind by kind, but a writer needs them track
 * by track, each after the slices around it.
 *
 *	nesting_add(&nesting, track, start_ns, end_ns);		for each slice
 *	nesting_sort(&nesting);
 *	nesting_at(&nesting, i), nesting_place(&nesting, i)	the i-th of them, in order
 *	nesting_clear(&nesting);				for the next part
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "model/order.h"

struct nested {
	uint64_t start_ns, end_ns;
	uint32_t track;
};

/* Starts zeroed. */
struct nesting {
	ARRAY(struct nested) slices; /* in order of arrival */
	ARRAY(size_t) ends;	     /* by track: end index of its slices in `order` */
	struct order_key *order;     /* valid once sorted; only the index matters */
	size_t order_room;
};

static inline void nesting_add(struct nesting *nesting, uint32_t track, uint64_t start_ns, uint64_t end_ns)
{
	array_push(&nesting->slices, ((struct nested){.start_ns = start_ns, .end_ns = end_ns, .track = track}));
}

/* Sorts by track, then by start, then longer slices first; equal ones keep their order. */
void nesting_sort(struct nesting *nesting);

/* Index of the i-th slice in order of arrival. */
static inline size_t nesting_place(const struct nesting *nesting, size_t i)
{
	return nesting->order[i].index;
}

static inline const struct nested *nesting_at(const struct nesting *nesting, size_t i)
{
	return &nesting->slices.items[nesting_place(nesting, i)];
}

static inline void nesting_clear(struct nesting *nesting)
{
	nesting->slices.count = 0;
}

void nesting_free(struct nesting *nesting);
