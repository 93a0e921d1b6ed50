/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps a correlation id of an address space to a 32-bit index.  CUPTI's ids increase by one per call, so neighbours
 * share a page, and most look-ups hit memory that the previous one brought into the cache.  Ids come from targets and
 * are hostile: pages are found by a seeded hash, and a page with a single id takes 264 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/lookup.h"

#define CORR_PAGE 64u /* ids */

struct corr_page {
	uint32_t epoch, number;	    /* holds ids from number * CORR_PAGE on */
	uint32_t values[CORR_PAGE]; /* UINT32_MAX: none */
};

struct corr_index {
	struct lookup by_number; /* (epoch, number) to index in pages */
	ARRAY(struct corr_page) pages;
	uint32_t latest; /* the page used last, which is usually used next, too */
};

void corr_index_free(struct corr_index *index);

/* Makes the page the latest one; false: there is no such page. */
bool corr_index_turn(struct corr_index *index, uint32_t epoch, uint32_t number);

static inline bool corr_index_is_latest(const struct corr_index *index, uint32_t epoch, uint32_t number)
{
	const struct corr_page *latest = index->latest < index->pages.count ? &index->pages.items[index->latest] : NULL;

	return latest && latest->number == number && latest->epoch == epoch;
}

/* The value of an id, UINT32_MAX: none.  epoch > 0. */
static inline uint32_t corr_index_get(struct corr_index *index, uint32_t epoch, uint32_t corr)
{
	uint32_t number = corr / CORR_PAGE;

	if (!corr_index_is_latest(index, epoch, number) && !corr_index_turn(index, epoch, number))
		return UINT32_MAX;
	return index->pages.items[index->latest].values[corr % CORR_PAGE];
}

/* A pointer to the value of an id, set to `initial` if it is new; valid until the next put. */
uint32_t *corr_index_put(struct corr_index *index, uint32_t epoch, uint32_t corr, uint32_t initial);

/* Replaces each value by places[value], and drops values that become UINT32_MAX. */
void corr_index_move(struct corr_index *index, const uint32_t *places);
