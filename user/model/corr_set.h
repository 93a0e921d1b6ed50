/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Correlation ids of one process's calls: the highest, and whether two calls share one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* Ids of one process are close together; a wider range is not worth a bitmap (32 MiB). */
#define CORR_SET_RANGE_MAX (1u << 28)

/* The bitmap of seen ids is allocated in pages, as their range is not known in advance. */
#define CORR_SET_PAGE_BITS 16u
#define CORR_SET_PAGES (CORR_SET_RANGE_MAX >> CORR_SET_PAGE_BITS)

struct corr_set_page {
	uint64_t bits[(1u << CORR_SET_PAGE_BITS) / 64];
};

/* Starts zeroed. */
struct corr_set {
	uint32_t lowest, highest; /* 0, 0: there is none */
	bool repeated;		  /* two calls share an id, or the range is too wide to know */
	uint32_t pages;		  /* allocated pages, 8 KB each */
	/* Indexed by id >> CORR_SET_PAGE_BITS, modulo the number of entries. */
	ARRAY(struct corr_set_page *) by_id;
};

/* corr: not 0.  False: the id is in the set already, or that is not known. */
bool corr_set_add(struct corr_set *set, uint32_t corr);

/* From now on only the highest id is tracked. */
void corr_set_give_up(struct corr_set *set);

void corr_set_free(struct corr_set *set);
