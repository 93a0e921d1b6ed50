/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The content of a trace as rows of data, for the report and any other output.  analyze() goes through the parts of a
 * trace once and feeds the analyses that were asked for.  Each keeps sums while events come and has its rows at the
 * end; they do not depend on the number of parts.
 *
 *	struct analyses all;
 *
 *	error = analyze(&all, trace, ANALYSES(ANALYZE_GPU_LINES), NULL);
 *	for (size_t i = 0; i < all.gpu_lines.count; i++)
 *		use(&all.gpu_lines.rows[i]);
 *	analyses_free(&all);
 */
#pragma once

#include "analyze/analyses.h"
#include "model/trace.h"

/*
 * which: a list (ANALYSES, analyses_of_report).  attribution: NULL for the default; stays the caller's.  The rows refer
 * to tables of the last part (all->model), which must outlive them.  Returns 0 or -errno; on an error the trace could
 * not be read and there are no rows (-EPIPE: each_gpu stopped it).  The caller calls analyses_free in either case.
 */
int analyze(struct analyses *all, struct trace *trace, const enum analysis *which,
	    const struct attribution *attribution);
int analyze_with(struct analyses *all, struct trace *trace, const enum analysis *which,
		 const struct analyze_options *options);
