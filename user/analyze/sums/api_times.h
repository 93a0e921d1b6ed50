/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls as the CPU sees them: time by function, and the line with most of it. */
#ifndef GPUTRACE_ANALYZE_API_TIMES_H
#define GPUTRACE_ANALYZE_API_TIMES_H

#include "analyze/events.h"
#include "analyze/lines.h"

struct api_row {
	uint16_t api;
	uint32_t line; /* with most of its time, or most of its calls; of equal lines the first that made one */
	uint64_t ns, count;
	uint64_t returns; /* calls whose return was seen; ns is their time */
};

struct api_times {
	struct tally callers; /* api, caller; more: returns */
	uint64_t ns, returns;
	struct api_row *rows; /* most time first, or most calls where no return was seen */
	size_t count;
};

void api_times_free(struct api_times *times);
void api_times_add_call(struct api_times *times, const struct call_event *event);
void api_times_finish(struct api_times *times, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_API_TIMES(X)                                                                                          \
	X(API_TIMES, call, api_times_add_call(&all->api_times, event))                                                 \
	X(API_TIMES, finish, api_times_finish(&all->api_times, event->lines))                                          \
	X(API_TIMES, free, api_times_free(&all->api_times))

#endif
