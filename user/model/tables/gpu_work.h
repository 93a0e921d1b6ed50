/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU operations: pending as they arrive, and joined (join_gpu.c) once all that they need has arrived. */
#pragma once

#include "base/array.h"
#include "model/events.h"

/* An operation as it arrived: its times are on `clock`, its device is CUPTI's id, and what is joined to it is not set.
 */
struct pending_gpu {
	struct model_gpu op;
	uint32_t epoch;
	uint32_t call; /* its number (calls_find), NONE: not yet arrived */
	uint8_t clock; /* enum source_clock */
};

/* Numbers that are small on every GPU; clamped in case a target makes them up. */
static inline uint8_t gpu_small(uint32_t value)
{
	return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static inline int8_t gpu_priority(uint32_t value)
{
	int32_t priority = (int32_t)value;

	return (int8_t)(priority < INT8_MIN ? INT8_MIN : priority > INT8_MAX ? INT8_MAX : priority);
}

/* CUpti_ActivityMemoryKind; 0: newer than this reader. */
static inline uint8_t gpu_known_memory(uint32_t kind)
{
	return kind <= 7 /* CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC */ ? (uint8_t)kind : 0;
}

struct gpu_work {
	ARRAY(struct pending_gpu) pending;
	ARRAY(struct pending_gpu) waiting; /* left by a part for the next one */
	struct model_gpu *list;		   /* the items of `joined` */
	size_t count;
	bool any_foreign;		/* some are from other profilers' buffers */
	ARRAY(struct model_gpu) joined; /* left by earlier parts, and joined since */
};
