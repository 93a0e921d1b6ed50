/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two traces compared, per step: what each row (per_step_rows.h) costs in the one and in the other, and whether that
 * is more than what the steps of one trace differ among themselves.  The noise of a difference is half the width of its
 * confidence interval of 99 % (Welch's).  Where a trace has no steps, or too few, it is not known.
 */
#ifndef GPUTRACE_ANALYZE_DIFFERENCES_H
#define GPUTRACE_ANALYZE_DIFFERENCES_H

#include <math.h>

#include "analyze/sums/per_step_rows.h"

struct difference {
	double before, after; /* per step; of a trace without steps, in all */
	double noise;	      /* of after - before; NAN: not known */
};

static inline double difference_change(const struct difference *difference)
{
	return fabs(difference->after - difference->before);
}

struct difference_row {
	const struct per_step_row *before, *after; /* NULL: not in that trace */
	struct difference cost, count;		   /* as per_step_row's */
};

/* What changed most comes first; what did not change by more than the noise, last. */
struct difference_rows {
	ARRAY(struct difference_row) list;
	size_t changed; /* how many of them changed: by more than the noise, or by anything where that is not known */
};

struct differences {
	const struct per_step_tables *before, *after;
	bool by_launches; /* one of them has no GPU times: rows of GPU work are sorted by launches */
	bool has_memory;  /* both have it */
	struct difference wall_ns, gpu_ns, launches, other_calls, idle_ns, wait_ns, growth, peak;
	struct difference_rows lines, kernels, ops, stacks, losses, waits, memory, peaks;
};

/* A change of less than this part of what there was is none. */
#define DIFFERENCE_LEAST 0.0005

/* Rows refer to those of the two, which have to stay. */
void differences_make(struct differences *all, const struct per_step_tables *before,
		      const struct per_step_tables *after);
void differences_free(struct differences *all);

/* More than the noise; where that is not known, anything that is a change at all. */
bool difference_is_seen(const struct difference *difference);

/* How much more, in percent of before; INFINITY: there was nothing before. */
double difference_percent(const struct difference *difference);

#endif
