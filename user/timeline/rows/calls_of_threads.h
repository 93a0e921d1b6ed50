/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links the calls of each thread in the current part of the trace, and says when they end. */
#pragma once

#include "model/model.h"

/* Starts zeroed. */
struct timeline_calls {
	uint32_t from;	 /* the first call of the part */
	uint32_t *first; /* by thread: its first call in the part or after it; NONE */
	uint32_t *next;	 /* by call from `from` on: the next call of its thread, NONE */
	size_t first_room, next_room;
};

/* Replaces the contents by the calls of a part. */
void timeline_calls_link(struct timeline_calls *calls, const struct model *model);
void timeline_calls_free(struct timeline_calls *calls);

/* The next call of its thread, for a call in the part; NONE: none so far. */
static inline uint32_t call_next(const struct timeline_calls *calls, uint32_t call)
{
	return calls->next[call - calls->from];
}

/*
 * When a call of the part ends on a timeline: at the latest when the next call of its thread begins, if that is known;
 * at its start, if its end was not seen.
 */
static inline uint64_t call_end(const struct model *model, const struct timeline_calls *calls, uint32_t call)
{
	const struct model_call *all = model->calls;
	uint64_t end = all[call].end_ns > all[call].start_ns ? all[call].end_ns : all[call].start_ns;
	uint32_t next = call_next(calls, call);

	return next != NONE && end > all[next].start_ns ? all[next].start_ns : end;
}
