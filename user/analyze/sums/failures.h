/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls that returned an error, by error, call and line. */
#ifndef GPUTRACE_ANALYZE_FAILURES_H
#define GPUTRACE_ANALYZE_FAILURES_H

#include "analyze/events.h"
#include "analyze/lines.h"

struct failure_row {
	int32_t result; /* cudaError_t, CUresult */
	uint16_t api;
	uint32_t line;
	uint64_t count;
};

struct failures {
	struct tally callers;	  /* result, api, caller */
	uint64_t launches, calls; /* calls: including launches */
	struct failure_row *rows; /* most first */
	size_t count;
};

void failures_free(struct failures *failures);
void failures_add_call(struct failures *failures, const struct call_event *event);
void failures_finish(struct failures *failures, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_FAILURES(X)                                                                                           \
	X(FAILURES, call, failures_add_call(&all->failures, event))                                                    \
	X(FAILURES, finish, failures_finish(&all->failures, event->lines))                                             \
	X(FAILURES, free, failures_free(&all->failures))

#endif
