/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sparse set of numbers that count up from 0: a flag that few of very many items have.  It takes a bit for each
 * number close to a member, and 4 bytes for each 512 numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

#define NUMBER_PAGE 512

struct number_page {
	uint64_t bits[NUMBER_PAGE / 64];
};

/* Zeroed: empty. */
struct number_set {
	ARRAY(uint32_t) by_number; /* by number / NUMBER_PAGE: index into pages + 1, 0: no page */
	ARRAY(struct number_page) pages;
};

void number_set_add(struct number_set *set, uint64_t number);
void number_set_free(struct number_set *set);

static inline bool number_set_has(const struct number_set *set, uint64_t number)
{
	uint64_t at = number / NUMBER_PAGE, bit = number % NUMBER_PAGE;
	uint32_t page = at < set->by_number.count ? set->by_number.items[at] : 0;

	return page && set->pages.items[page - 1].bits[bit / 64] >> (bit % 64) & 1;
}
