/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of each thread one after the other, and when they end: of the current part of the trace. */
#ifndef GPUTRACE_TIMELINE_CALLS_OF_THREADS_H
#define GPUTRACE_TIMELINE_CALLS_OF_THREADS_H

#include "model/model.h"

/* Starts zeroed. */
struct timeline_calls {
	uint32_t from;	 /* the first call of the part */
	uint32_t *first; /* by thread: the first one in the part or after it; NONE */
	uint32_t *next;	 /* by call from `from` on: the next one of its thread, NONE */
	size_t first_room, next_room;
};

/* Replaces what is there by the calls of a part. */
void timeline_calls_link(struct timeline_calls *calls, const struct model *model);
void timeline_calls_free(struct timeline_calls *calls);

/* The next call of its thread, of one in the part; NONE: none has come yet. */
static inline uint32_t call_next(const struct timeline_calls *calls, uint32_t call)
{
	return calls->next[call - calls->from];
}

/*
 * When a call of the part ends on a timeline: not after the next call of its thread begins, as far as that has come;
 * at its start, where its end was not seen.
 */
static inline uint64_t call_end(const struct model *model, const struct timeline_calls *calls, uint32_t call)
{
	const struct model_call *all = model->calls;
	uint64_t end = all[call].end_ns > all[call].start_ns ? all[call].end_ns : all[call].start_ns;
	uint32_t next = call_next(calls, call);

	return next != NONE && end > all[next].start_ns ? all[next].start_ns : end;
}

#endif
