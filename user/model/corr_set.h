/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Correlation ids of the calls of one process: the highest, and whether two calls have the same. */
#ifndef GPUTRACE_CORR_SET_H
#define GPUTRACE_CORR_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* Ids of one process are close together; a wider range is not worth a bitmap (32 MiB). */
#define CORR_SET_RANGE_MAX (1u << 28)

/* The bitmap of those that were met comes in pages: no one knows before which range they span. */
#define CORR_SET_PAGE_BITS 16u
#define CORR_SET_PAGES (CORR_SET_RANGE_MAX >> CORR_SET_PAGE_BITS)

struct corr_set_page {
	uint64_t bits[(1u << CORR_SET_PAGE_BITS) / 64];
};

/* Starts zeroed. */
struct corr_set {
	uint32_t lowest, highest; /* 0, 0: there is none */
	bool repeated;		  /* two calls have one, or the range is too wide to know */
	uint32_t pages;		  /* that it has: each of 8 KB */
	/* By id >> CORR_SET_PAGE_BITS, less a multiple of their number. */
	ARRAY(struct corr_set_page *) by_id;
};

/* corr: not 0.  False: it is there already, or that is not known. */
bool corr_set_add(struct corr_set *set, uint32_t corr);

/* From here on only the highest is known. */
void corr_set_give_up(struct corr_set *set);

void corr_set_free(struct corr_set *set);

#endif
