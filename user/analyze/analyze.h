/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace says, as rows of data: the report prints them, and any other output can.  analyze() walks a model once
 * and feeds the analyses that were asked for; each holds sums while events come and has its rows at the end.
 *
 *	struct analyses all;
 *
 *	analyze(&all, model, ANALYZE_GPU_LINES);
 *	for (size_t i = 0; i < all.gpu_lines.count; i++)
 *		use(&all.gpu_lines.rows[i]);
 *	analyses_free(&all);
 */
#ifndef GPUTRACE_ANALYZE_H
#define GPUTRACE_ANALYZE_H

#include "analyze/analyses.h"

/* which: a sum of enum analysis. */
void analyze(struct analyses *all, const struct model *model, unsigned which);

#endif
