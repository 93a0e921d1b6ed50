/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders for qsort(3), put together with ?: from the most important on:
 *
 *	return most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: least_first(a->line, b->line);
 */
#pragma once

#include <stdint.h>

static inline int least_first(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int most_first(uint64_t a, uint64_t b)
{
	return least_first(b, a);
}
