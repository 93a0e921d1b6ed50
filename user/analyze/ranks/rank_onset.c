/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_onset.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"

#define PART_LEAST 8u	  /* collectives on each side: fewer have no mean to speak of */
#define ERRORS_LEAST 5.0  /* the best of many moments differs by 3 to 4 standard errors by chance alone */
#define ERRORS_OF_99 2.58 /* standard errors in an interval of 99 % */
#define MORE_LEAST 1000.0 /* ns: starts of kernels on two GPUs differ by this anyway */

DEFINE_ORDER(by_time, struct lateness, least_first(a->at_ns, b->at_ns) ?: least_first(a->ns, b->ns))

/* The number of latenesses before the best division; 0: none has more after than before. */
static size_t best_division(const struct lateness *list, size_t count, double all)
{
	double before = 0, best = 0;
	size_t found = 0;

	for (size_t i = 1; i < count; i++) {
		double first = (double)i, second = (double)(count - i), more, explained;

		before += (double)list[i - 1].ns;
		more = (all - before) / second - before / first;
		explained = more * more * first * second / (double)count;
		if (more <= 0 || explained <= best)
			continue;
		best = explained;
		found = i;
	}
	return found;
}

static double mean_of(const struct lateness *list, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)list[i].ns;
	return sum / (double)count;
}

static double squares_around(const struct lateness *list, size_t count, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += ((double)list[i].ns - mean) * ((double)list[i].ns - mean);
	return sum;
}

static uint64_t count_late(const struct lateness *list, size_t count)
{
	uint64_t late = 0;

	for (size_t i = 0; i < count; i++)
		late += list[i].ns != 0;
	return late;
}

void rank_onset_find(struct rank_onset *onset, struct lateness_list *latenesses)
{
	struct lateness *list = latenesses->list.items;
	size_t count = latenesses->list.count, first, second;
	double before, after, error_ns;

	*onset = (struct rank_onset){0};
	if (count < 2 * PART_LEAST)
		return;
	qsort(list, count, sizeof(*list), by_time);
	first = best_division(list, count, mean_of(list, count) * (double)count);
	if (first < PART_LEAST || first + PART_LEAST > count)
		return;
	second = count - first;
	before = mean_of(list, first);
	after = mean_of(list + first, second);
	/* one variance for both parts: few equal ones at an end would seem to have none */
	error_ns = sqrt((squares_around(list, first, before) + squares_around(list + first, second, after)) /
			(double)(count - 2) * (1.0 / (double)first + 1.0 / (double)second));
	if (after - before < MORE_LEAST || after - before < ERRORS_LEAST * error_ns)
		return;
	*onset = (struct rank_onset){.is_known = true,
				     .from_ns = list[first].at_ns,
				     .before = first,
				     .after = second,
				     .late_before = count_late(list, first),
				     .late_after = count_late(list + first, second),
				     .more_ns = after - before,
				     .error_ns = ERRORS_OF_99 * error_ns};
}
