/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Group-bys: events are summed up by two numbers and a caller, and at the end rows are made of the sums.  An analysis
 * is then a function that adds an event, and its hooks:
 *
 *	#define ANALYSIS_KERNELS(X) GROUP_HOOKS(X, KERNELS, kernels, gpu, group_add_kernel, GROUP_BY_PARTS)
 */
#pragma once

#include "analyze/events/line_tally.h"
#include "analyze/sums/gpu_tally.h"

enum group_rows {
	GROUP_BY_LINE,		 /* rows of a line and the two numbers */
	GROUP_BY_LINE_AND_COUNT, /* the same, most events first; equal ones by the two numbers, then by line */
	GROUP_BY_PARTS,		 /* rows of the two numbers, with the line that has most of each */
};

struct group {
	struct gpu_tally sums;	   /* the two numbers, caller, process (NONE: not of interest) */
	uint64_t ns, events, more; /* of all */
	/*
	 * Most time first; of as much time most events first, and then by line and the two numbers.  The line with most
	 * is that with most time, or with most events where none is timed; of equal lines it is the first.
	 */
	struct line_tally_row *rows;
	size_t count;
};

/* Adds an event to the sums of its caller, which a row shows as its line.  more: another value, for GROUP_BY_PARTS. */
void group_add(struct group *group, const uint32_t part[2], uint32_t caller, uint32_t process, uint64_t ns,
	       uint64_t more);

/* The same of a GPU operation, which may have no times. */
void group_add_gpu(struct group *group, const uint32_t part[2], uint32_t caller, const struct model_gpu *op);

void group_finish(struct group *group, struct lines *lines, enum group_rows rows);
void group_free(struct group *group);

/* The hooks of an analysis: member: of struct analyses; kind: of events; add: gets the group and the event. */
#define GROUP_HOOKS(X, ANALYSIS, member, kind, add, rows)                                                              \
	X(ANALYSIS, kind, add(&all->member, event))                                                                    \
	X(ANALYSIS, finish, group_finish(&all->member, event->lines, rows))                                            \
	X(ANALYSIS, free, group_free(&all->member))
