/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace says, as rows of data: the report prints them, and any other output can.  analyze() goes through the
 * parts of a trace once and feeds the analyses that were asked for; each holds sums while events come and has its rows
 * at the end, the same however many parts there are.
 *
 *	struct analyses all;
 *
 *	error = analyze(&all, trace, ANALYSES(ANALYZE_GPU_LINES), NULL);
 *	for (size_t i = 0; i < all.gpu_lines.count; i++)
 *		use(&all.gpu_lines.rows[i]);
 *	analyses_free(&all);
 */
#ifndef GPUTRACE_ANALYZE_H
#define GPUTRACE_ANALYZE_H

#include "analyze/analyses.h"
#include "model/trace.h"

/*
 * which: a list (ANALYSES, analyses_of_report).  attribution: NULL for the default; stays the caller's.  The rows refer
 * to tables of the last part (all->model), which has to stay.  0 or -errno: the trace could not be read, and there are
 * no rows
 * (-EPIPE: each_gpu has had enough); analyses_free is for the caller either way.
 */
int analyze(struct analyses *all, struct trace *trace, const enum analysis *which,
	    const struct attribution *attribution);
int analyze_with(struct analyses *all, struct trace *trace, const enum analysis *which,
		 const struct analyze_options *options);

#endif
