/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the streams of a process were captured into graphs, where only CUPTI's records of calls say so.  The thread that
 * begins a capture ends it; meanwhile others may work for it, as those of autograd do.
 */
#ifndef GPUTRACE_CAPTURES_H
#define GPUTRACE_CAPTURES_H

#include "model/tables/api_activity.h"

struct capture {
	uint64_t start_ns, end_ns;
	uint32_t process;
};

struct captures {
	ARRAY(struct capture) list;
	uint64_t since_ns; /* the thread in question captures since then, 0: it does not */
};

/* The records that follow are another thread's, which captures since then (0: it does not). */
void captures_begin_thread(struct captures *captures, uint64_t since_ns);

/* There are no more records of the thread before until_ns (UINT64_MAX: at all).  Since when it captures then, 0. */
uint64_t captures_end_thread(struct captures *captures, uint32_t process, uint64_t until_ns);

/* The next record of the thread, in order of time. */
void captures_note(struct captures *captures, const struct api_activity *activity);

/* After the last: launches that were found (with a correlation id and an end) and fall into a capture are captured. */
void captures_mark(struct captures *captures, const struct process_table *processes, struct calls *calls);

void captures_free(struct captures *captures);

#endif
