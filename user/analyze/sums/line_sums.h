/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time, or a number of calls, by Python line.  A line's own part is what it launched itself.  Its total is all that
 * ran under it, where every stack counts once however often the line is in it.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/sums/gpu_tally.h"
#include "analyze/events/lines.h"

struct line_row {
	uint32_t line;
	uint32_t process; /* of its own part, or of the total in rows by total; PROCESS_MANY: several */
	uint64_t self, total;
	uint64_t launches; /* of its own part */
	/*
	 * of a library's line, for most of its own part: the innermost line of the user's own code, NONE; the innermost
	 * line between that PyTorch compiled, NONE; the number of different such pairs
	 */
	uint32_t user_line, generated_line, user_lines;
};

struct line_sums {
	const struct model *model;
	/*
	 * key: stack, or the caller of a call without one; process; stack of the graph's launch, NONE; of GPU time
	 * call_pass
	 */
	struct gpu_tally stacks;
	uint64_t sum;
	uint64_t backward[BACKWARD_PLACES]; /* parts of sum */
	struct tally user_lines;	    /* the innermost line of the user's own code, else the innermost: ns */
	struct line_row *rows;		    /* lines with an own part, largest first */
	struct line_row *totals;	    /* Python lines with a total, largest first */
	size_t count, total_count;
};

void line_sums_init(struct line_sums *sums, const struct model *model);
void line_sums_free(struct line_sums *sums);

/* A key of line_sums.stacks. */
struct tally_key line_sums_key(const struct model *model, const struct gpu_event *event);

/* Adds GPU time. */
void line_sums_add_gpu(struct line_sums *sums, const struct gpu_event *event);
/* Adds 1 for a call that puts work on a GPU. */
void line_sums_add_call(struct line_sums *sums, const struct call_event *event);

/* Adds other time; stack: model.stacks, NONE; caller: callers.h. */
void line_sums_add_time(struct line_sums *sums, uint32_t stack, uint32_t caller, uint32_t process, uint64_t ns);

void line_sums_finish(struct line_sums *sums, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_GPU_LINES(X)                                                                                          \
	X(GPU_LINES, begin, line_sums_init(&all->gpu_lines, event->first))                                             \
	X(GPU_LINES, part, all->gpu_lines.model = event->part)                                                         \
	X(GPU_LINES, gpu, line_sums_add_gpu(&all->gpu_lines, event))                                                   \
	X(GPU_LINES, finish, line_sums_finish(&all->gpu_lines, event->lines))                                          \
	X(GPU_LINES, free, line_sums_free(&all->gpu_lines))

#define ANALYSIS_CALL_LINES(X)                                                                                         \
	X(CALL_LINES, begin, line_sums_init(&all->call_lines, event->first))                                           \
	X(CALL_LINES, part, all->call_lines.model = event->part)                                                       \
	X(CALL_LINES, call, line_sums_add_call(&all->call_lines, event))                                               \
	X(CALL_LINES, finish, line_sums_finish(&all->call_lines, event->lines))                                        \
	X(CALL_LINES, free, line_sums_free(&all->call_lines))
