/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace says, as rows of data: the report prints them, and any other output can.  analyze() walks a model once
 * and feeds the analyses that were asked for; each holds sums while events come (events.h) and has its rows at the end.
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

#include "analyze/callers.h"
#include "analyze/events.h"
#include "analyze/idle.h"
#include "analyze/kernels.h"
#include "analyze/line_sums.h"
#include "analyze/lines.h"
#include "analyze/memcpys.h"
#include "analyze/untimed.h"

enum analysis {
	ANALYZE_GPU_LINES = 1 << 0,
	ANALYZE_CALL_LINES = 1 << 1,
	ANALYZE_UNTIMED = 1 << 2,
	ANALYZE_KERNELS = 1 << 3,
	ANALYZE_MEMCPYS = 1 << 4,
	ANALYZE_IDLE = 1 << 5,
	ANALYZE_ALL = (1 << 6) - 1,
	ANALYZE_WITH_GPU = ANALYZE_GPU_LINES | ANALYZE_UNTIMED | ANALYZE_KERNELS | ANALYZE_MEMCPYS |
			   ANALYZE_IDLE, /* of use where there are GPU times */
};

struct analyses {
	const struct model *model;
	unsigned which; /* enum analysis */
	struct window window;
	uint32_t active; /* processes with calls or GPU work */
	struct callers callers;
	struct lines lines;
	struct line_sums gpu_lines;  /* GPU time by line */
	struct line_sums call_lines; /* launches by line: where there are no GPU times */
	struct untimed untimed;
	struct kernels kernels;
	struct memcpys memcpys;
	struct idle idle;
};

void analyze(struct analyses *all, const struct model *model, unsigned which);
void analyses_free(struct analyses *all);

#endif
