/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two traces compared, per step: what each row (per_step_tables.h) costs in either, and whether the difference is more
 * than the steps of one trace differ among themselves.  The noise of a difference is half the width of its confidence
 * interval (Welch's), of 95 % for a step and of 99 % for rows.  Where a trace has no steps, or too few, it is not
 * known.
 */
#pragma once

#include <math.h>

#include "analyze/steps/per_step_tables.h"

struct difference {
	double before, after; /* per step; in all for a trace without steps */
	double noise;	      /* half the interval of after - before; NAN: not known */
};

static inline double difference_change(const struct difference *difference)
{
	return fabs(difference->after - difference->before);
}

/* Of rows: with an interval of 99 %. */
struct difference difference_of(const struct estimate *before, const struct estimate *after);

struct difference_row {
	const struct per_step_row *before, *after; /* NULL: not in that trace */
	struct difference cost, count;		   /* those of per_step_row */
};

/* Sorted by change, largest first; rows that did not change by more than the noise are last. */
struct difference_rows {
	ARRAY(struct difference_row) list;
	size_t changed; /* how many rows changed: by more than the noise, or at all where the noise is not known */
};

struct differences {
	const struct per_step_tables *before, *after;
	bool by_launches;    /* a trace has no GPU times: rows of GPU work are sorted by launches */
	bool has_memory;     /* both traces have it */
	bool of_other_tools; /* gputrace recorded neither */
	struct difference wall_ns, gpu_ns, launches, other_calls, idle_ns, wait_ns, growth, peak;
	struct difference median_wall_ns, median_gpu_ns; /* of the median step */
	struct difference_rows lines, layers, layer_kernels, computation, kernels, ops, stacks, losses, waits, memory,
		peaks;
};

/* A change of less than this share of the larger value is none. */
#define DIFFERENCE_LEAST 0.0005

/* Rows refer to rows of both tables, which must outlive them. */
void differences_make(struct differences *all, const struct per_step_tables *before,
		      const struct per_step_tables *after);
void differences_free(struct differences *all);

/* The change in percent of before, of which at least that much is certain; NAN: it is not known. */
double difference_least_percent(const struct difference *difference);

/* Whether it is more than the noise; where the noise is not known, whether it is a change at all. */
bool difference_is_seen(const struct difference *difference);

/* The change in percent of before; INFINITY: before is 0. */
double difference_percent(const struct difference *difference);
