/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders for qsort(3), put together with ?: from the most important on:
 *
 *	most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: least_first(a->line, b->line)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline int least_first(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int most_first(uint64_t a, uint64_t b)
{
	return least_first(b, a);
}

/* The same for what may be negative or has a fraction, and for pointers. */
#define lower_first(a, b) (((a) > (b)) - ((a) < (b)))
#define higher_first(a, b) lower_first(b, a)

/*
 * Defines the function `name` for qsort(3): the order of two items of that type, to which `a` and `b` point.
 *
 *	DEFINE_ORDER(by_time, struct row, most_first(a->ns, b->ns) ?: least_first(a->line, b->line))
 */
#define DEFINE_ORDER(name, type, order)                                                                                \
	static int name(const void *left_, const void *right_)                                                         \
	{                                                                                                              \
		const type *a = left_;                                                                                 \
		const type *b = right_;                                                                                \
                                                                                                                       \
		return order;                                                                                          \
	}

/*
 * Of `count` items in order, least first, the index of the median, of two in the middle the lesser; and of the p99,
 * than which one in a hundred is larger.
 */
static inline size_t median_of_order(size_t count)
{
	return (count - 1) / 2;
}

static inline size_t p99_of_order(size_t count)
{
	return count - 1 - count / 100;
}

/*
 * Binary search: the number of elements, from the first on, for which the condition is true, of `count` elements in an
 * order in which it is true for none after one for which it is false.  `i` names the element's index in it:
 *
 *	size_t earlier = count_while(list.count, i, list.items[i].time_ns < time_ns);
 */
#define count_while(count, i, condition)                                                                               \
	({                                                                                                             \
		size_t low_ = 0, high_ = count;                                                                        \
                                                                                                                       \
		while (low_ < high_) {                                                                                 \
			size_t i = low_ + (high_ - low_) / 2;                                                          \
                                                                                                                       \
			if (condition)                                                                                 \
				low_ = i + 1;                                                                          \
			else                                                                                           \
				high_ = i;                                                                             \
		}                                                                                                      \
		low_;                                                                                                  \
	})
