/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many threads put work on a GPU. */
#pragma once

#include <stdlib.h>

#include "analyze/events/events.h"
#include "base/array.h"

struct threads {
	uint8_t *launches; /* by model.threads */
	uint32_t count;	   /* threads that launch */
};

static inline void threads_add_call(struct threads *threads, const struct call_event *event)
{
	uint8_t *launches = &threads->launches[event->call->thread];

	if (call_is_work(event->call)) {
		threads->count += !*launches;
		*launches = 1;
	}
}

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_THREADS(X)                                                                                            \
	X(THREADS, begin, all->threads.launches = xcalloc(event->first->thread_count, 1))                              \
	X(THREADS, call, threads_add_call(&all->threads, event))                                                       \
	X(THREADS, free, free(all->threads.launches))
