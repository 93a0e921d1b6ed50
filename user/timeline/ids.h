/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that join what belongs together, unique in a whole timeline: correlation (a call, its GPU work, its wait) and
 * flow (the arrow from a call to one operation).  CUDA promises its own only within a process.
 */
#ifndef GPUTRACE_TIMELINE_IDS_H
#define GPUTRACE_TIMELINE_IDS_H

#include "model/model.h"
#include "timeline/timeline.h"

struct timeline_ids {
	const struct model *model;
	bool renumbered;     /* a call's number is not CUPTI's */
	uint64_t first_free; /* no call has this number, or one above, by itself */
};

/* After `several` and the processes of the timeline are known. */
struct timeline_ids *timeline_ids_new(const struct timeline *timeline);

static inline uint64_t correlation_of_call(const struct timeline_ids *ids, uint32_t call)
{
	uint32_t corr = ids->model->calls[call].corr;

	return !ids->renumbered && corr ? corr : ids->first_free + call;
}

/* Its call's, or one of its own when its launch was not seen. */
static inline uint64_t correlation_of_operation(const struct timeline_ids *ids, uint32_t op)
{
	uint32_t call = ids->model->gpu[op].call;

	return call != NONE ? correlation_of_call(ids, call) : ids->first_free + ids->model->call_count + op;
}

static inline uint64_t correlation_of_sync(const struct timeline_ids *ids, uint32_t sync)
{
	const struct model *model = ids->model;
	uint32_t call = model->syncs[sync].call;

	return call != NONE ? correlation_of_call(ids, call)
			    : ids->first_free + model->call_count + model->gpu_count + sync;
}

/* The arrow to an operation that has a call: the correlation for the first one of a call, else one of its own. */
static inline uint64_t flow_to_operation(const struct timeline_ids *ids, uint32_t op)
{
	uint32_t call = ids->model->gpu[op].call;

	return ids->model->calls[call].first_gpu == op ? correlation_of_call(ids, call)
						       : ids->first_free + ids->model->call_count + op;
}

#endif
