/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/clock_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

#define SAMPLES 512u	  /* number of pairs whose slopes are computed, each with each other */
#define DRIFT_PAIRS 16u	  /* least number of pairs for a drift */
#define DRIFT_SPAN_NS 1e9 /* least time between them */
#define ROUNDS 3u	  /* rounds of leaving out outliers */
#define FAR 4.0 /* an outlier is farther off than this many standard deviations, estimated from the median residual */
#define DEVIATION 1.4826     /* standard deviation of a normal distribution, over that median */
#define NEAR_LEAST_NS 1000.0 /* never an outlier below this */

/*
 * The difference of the clocks against time, both relative to the first pair: small numbers, which doubles hold
 * exactly.
 */
struct point {
	double at, ahead;
};

struct points {
	struct point *list;
	double *scratch;
	size_t count;
	double slope, level;
};

DEFINE_ORDER(by_value, double, lower_first(*a, *b))

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

DEFINE_ORDER(by_here, struct clock_pair, lower_first(a->here_ns, b->here_ns) ?: lower_first(a->there_ns, b->there_ns))

static double left_over(const struct points *points, size_t i)
{
	return points->list[i].ahead - points->level - points->slope * points->list[i].at;
}

/* The median slope between evenly spread samples. */
static void find_slope(struct points *points)
{
	size_t samples = points->count < SAMPLES ? points->count : SAMPLES, slopes = 0;
	AUTO_FREE double *list = xmalloc(samples * samples / 2 * sizeof(*list));

	for (size_t i = 0; i < samples; i++)
		for (size_t k = i + 1; k < samples; k++) {
			const struct point *a = &points->list[i * points->count / samples];
			const struct point *b = &points->list[k * points->count / samples];

			if (b->at > a->at)
				list[slopes++] = (b->ahead - a->ahead) / (b->at - a->at);
		}
	points->slope = slopes ? median_of(list, slopes) : 0;
}

static void find_level(struct points *points)
{
	for (size_t i = 0; i < points->count; i++)
		points->scratch[i] = points->list[i].ahead - points->slope * points->list[i].at;
	points->level = median_of(points->scratch, points->count);
}

/* The error that `share` of the residuals do not exceed. */
static double error_of(struct points *points, double share)
{
	for (size_t i = 0; i < points->count; i++)
		points->scratch[i] = fabs(left_over(points, i));
	qsort(points->scratch, points->count, sizeof(*points->scratch), by_value);
	return points->scratch[(size_t)(share * (double)(points->count - 1))];
}

static double reach_of(struct points *points)
{
	return fmax(FAR * DEVIATION * error_of(points, 0.5), NEAR_LEAST_NS);
}

/* Fits least squares through the points that are near; returns their number. */
static size_t refine_fit(struct points *points, bool has_drift)
{
	double near = reach_of(points), sum = 0, at = 0, ahead = 0, square = 0, product = 0;

	for (size_t i = 0; i < points->count; i++) {
		if (fabs(left_over(points, i)) > near)
			continue;
		sum++;
		at += points->list[i].at;
		ahead += points->list[i].ahead;
	}
	at /= sum;
	ahead /= sum;
	for (size_t i = 0; i < points->count; i++) {
		double x = points->list[i].at - at;

		if (fabs(left_over(points, i)) > near)
			continue;
		square += x * x;
		product += x * (points->list[i].ahead - ahead);
	}
	if (has_drift && square > 0)
		points->slope = product / square;
	points->level = ahead - points->slope * at;
	return (size_t)sum;
}

/* Limits a value to what fits into an int64_t. */
static double bound_ns(double ns)
{
	return fmax(fmin(ns, 4e18), -4e18);
}

void clock_fit_make(struct clock_fit *fit, struct clock_pair *pairs, size_t count)
{
	struct points points = {.list = xmalloc(count * sizeof(*points.list)),
				.scratch = xmalloc(count * sizeof(*points.scratch)),
				.count = count};
	int64_t first;

	qsort(pairs, count, sizeof(*pairs), by_here);
	first = (int64_t)(pairs[0].there_ns - pairs[0].here_ns);
	for (size_t i = 0; i < count; i++)
		points.list[i] = (struct point){
			.at = (double)(pairs[i].here_ns - pairs[0].here_ns),
			.ahead = (double)(int64_t)(pairs[i].there_ns - pairs[i].here_ns - (uint64_t)first)};
	*fit = (struct clock_fit){.pairs = count,
				  .has_drift = count >= DRIFT_PAIRS && points.list[count - 1].at >= DRIFT_SPAN_NS};
	if (fit->has_drift)
		find_slope(&points);
	find_level(&points);
	for (unsigned i = 0; i < ROUNDS; i++)
		fit->used = refine_fit(&points, fit->has_drift);
	fit->line =
		(struct clock_line){.from_ns = pairs[0].here_ns,
				    .offset_ns = (int64_t)((uint64_t)first + (uint64_t)llround(bound_ns(points.level))),
				    .drift = points.slope};
	fit->error_ns = (uint64_t)error_of(&points, 0.5);
	fit->error_most_ns = (uint64_t)error_of(&points, 0.95);
	free(points.list);
	free(points.scratch);
}
