/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that link related slices, unique in a whole timeline: correlation (a call, its GPU work, its wait) and flow
 * (the arrow from a call to one operation).  CUDA's own numbers are unique only within a process.
 */
#pragma once

#include "model/model.h"
#include "timeline/timeline.h"

/* Starts zeroed. */
struct timeline_ids {
	bool renumbered;     /* calls' numbers differ from CUPTI's */
	uint64_t first_free; /* no call is shown with a CUPTI id of this or above */
	/* Upper bounds for the whole trace; calls: above the highest number of any call. */
	uint64_t calls, operations, syncs;
};

/* Called with the first part, before any number is requested. */
void timeline_ids_find(struct timeline_ids *ids, const struct timeline *timeline);

static inline uint64_t correlation_of_call(const struct timeline_ids *ids, const struct model_call *call)
{
	return !ids->renumbered && call->corr ? call->corr : ids->first_free + call->number;
}

static inline bool has_number(const struct model *model, uint32_t call)
{
	return call != NONE && model->calls[call].number != CALL_OUTSIDE;
}

/* The correlation of a call, by its index; 0: the call is not known, or is not in the slice. */
static inline uint64_t correlation_if_shown(const struct timeline_ids *ids, const struct model *model, uint32_t call)
{
	return has_number(model, call) ? correlation_of_call(ids, &model->calls[call]) : 0;
}

/* The own number of an operation in the part, used if it has no call or does not have the call's number. */
static inline uint64_t own_id_of_operation(const struct timeline_ids *ids, const struct model *model, uint32_t op)
{
	return ids->first_free + ids->calls + in_part_number(&model->gpu_in_part, op);
}

/* Its call's correlation, or its own number if its launch was not seen or is not in the slice. */
static inline uint64_t correlation_of_operation(const struct timeline_ids *ids, const struct model *model, uint32_t op)
{
	uint32_t call = model->gpu[op].call;

	return has_number(model, call) ? correlation_of_call(ids, &model->calls[call])
				       : own_id_of_operation(ids, model, op);
}

static inline uint64_t correlation_of_sync(const struct timeline_ids *ids, const struct model *model, uint32_t sync)
{
	uint32_t call = model->syncs[sync].call;

	return has_number(model, call)
		       ? correlation_of_call(ids, &model->calls[call])
		       : ids->first_free + ids->calls + ids->operations + in_part_number(&model->syncs_in_part, sync);
}

/* The arrow to an operation that has a call: the correlation for the call's first operation, else its own number. */
static inline uint64_t flow_to_operation(const struct timeline_ids *ids, const struct model *model, uint32_t op)
{
	const struct model_call *call = &model->calls[model->gpu[op].call];

	return call->first_gpu == op ? correlation_of_call(ids, call) : own_id_of_operation(ids, model, op);
}
