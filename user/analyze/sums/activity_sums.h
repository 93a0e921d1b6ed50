/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time by kind of activity, as nvprof sums it: GPU work by kernel, by direction of memcpys, and memsets; or CUDA calls
 * by function.  Memory follows the number of kinds, not of activities.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/tally.h"

struct activity_row {
	uint32_t kind; /* enum model_gpu_kind; 0 for calls */
	uint32_t what; /* kernel: model.strings, NONE; memcpy: its kind; memset: 0; call: its api */
	uint64_t ns, count;
	uint64_t timed;		 /* activities with times, which make up ns, min_ns and max_ns */
	uint64_t min_ns, max_ns; /* 0 where none is timed */
};

struct activity_sums {
	struct tally keys;		 /* kind, what; numbered like rows until those are sorted */
	ARRAY(struct activity_row) rows; /* most time first */
	uint64_t ns;
};

void activity_sums_free(struct activity_sums *sums);
void activity_sums_add_gpu(struct activity_sums *sums, const struct gpu_event *event);
void activity_sums_add_call(struct activity_sums *sums, const struct call_event *event);
void activity_sums_finish(struct activity_sums *sums);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_ACTIVITY_SUMS(X)                                                                                      \
	X(ACTIVITY_SUMS, gpu, activity_sums_add_gpu(&all->gpu_sums, event))                                            \
	X(ACTIVITY_SUMS, call, activity_sums_add_call(&all->api_sums, event))                                          \
	X(ACTIVITY_SUMS, finish, (activity_sums_finish(&all->gpu_sums), activity_sums_finish(&all->api_sums)))         \
	X(ACTIVITY_SUMS, free, (activity_sums_free(&all->gpu_sums), activity_sums_free(&all->api_sums)))
