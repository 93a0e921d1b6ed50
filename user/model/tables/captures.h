/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the streams of a process were captured into graphs, where only API activity records show it.  The thread that
 * begins a capture also ends it; meanwhile other threads, such as autograd's, may add to the graph.
 */
#pragma once

#include "base/owned_spans.h"
#include "model/tables/api_activity.h"

struct captures {
	struct owned_spans list; /* of processes */
	uint64_t since_ns;	 /* since when the current thread has been capturing, 0: it is not */
};

/* The thread has no more records before until_ns (UINT64_MAX: at all).  Returns since when it is capturing then, 0. */
uint64_t captures_end_thread(struct captures *captures, uint32_t process, uint64_t until_ns);

/* The next record of the thread, in order of time. */
void captures_note(struct captures *captures, const struct api_activity *activity);

/*
 * After the last record: marks as captured the launches in a capture whose record was found (with correlation id and
 * end).
 */
void captures_mark(struct captures *captures, const struct process_table *processes, struct calls *calls);
