/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes, threads and calls of the model a timeline has, and where spans are drawn. */
#pragma once

#include "model/model.h"
#include "timeline/timeline.h"

static inline bool timeline_has_process(const struct timeline *timeline, uint32_t process)
{
	return timeline->process_groups[process] != TIMELINE_NONE;
}

static inline bool timeline_has_thread(const struct timeline *timeline, uint32_t thread)
{
	return timeline_has_process(timeline, timeline->model->threads[thread].process);
}

static inline bool timeline_has_call(const struct timeline *timeline, const struct model_call *call)
{
	return timeline_has_thread(timeline, call->thread);
}

/* The known end: of an open span the end of the part. */
static inline uint64_t span_end(const struct model *model, const struct model_span *span)
{
	return span->open ? model->until_ns : span->end_ns;
}

/* A wait that began before the recording, or before the slice of it, is drawn from the start of that. */
static inline uint64_t wait_drawn_from(const struct model *model, const struct model_wait *wait)
{
	return wait->start_ns < model->start_ns && model->start_ns < wait->end_ns ? model->start_ns : wait->start_ns;
}
