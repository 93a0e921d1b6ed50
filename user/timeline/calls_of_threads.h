/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of each thread one after the other, and when they end. */
#ifndef GPUTRACE_TIMELINE_CALLS_OF_THREADS_H
#define GPUTRACE_TIMELINE_CALLS_OF_THREADS_H

#include "model/model.h"

struct timeline_calls {
	uint32_t *first; /* by thread, NONE */
	uint32_t *next;	 /* by call: the next one of its thread, NONE */
};

struct timeline_calls *timeline_calls_new(const struct model *model);
void timeline_calls_free(struct timeline_calls *calls);

/* When a call ends on a timeline: not after the next call of its thread begins; at its start, where that was not seen.
 */
static inline uint64_t call_end(const struct model *model, const struct timeline_calls *calls, uint32_t call)
{
	const struct model_call *all = model->calls;
	uint64_t end = all[call].end_ns > all[call].start_ns ? all[call].end_ns : all[call].start_ns;
	uint32_t next = calls->next[call];

	return next != NONE && end > all[next].start_ns ? all[next].start_ns : end;
}

#endif
