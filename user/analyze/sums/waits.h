/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which lines wait for the GPU, how long, and for what of it: CUPTI's word where it was asked for (--trace sync), else
 * the time in calls that wait.
 */
#ifndef GPUTRACE_ANALYZE_WAITS_H
#define GPUTRACE_ANALYZE_WAITS_H

#include "analyze/events.h"
#include "analyze/lines.h"
#include "base/array.h"

/* Used instead of an enum gpt_agent_sync_kind where CUPTI gave no synchronisation record: only the call is known. */
#define WAIT_CALL UINT32_MAX

struct wait_row {
	uint32_t line;
	uint32_t process;		/* as line_tally_row's */
	uint32_t user_line, user_lines; /* the same */
	uint32_t kind;			/* enum gpt_agent_sync_kind, WAIT_CALL */
	uint32_t stream;		/* that is waited for, NONE */
	uint32_t recorded_line; /* of the call that recorded the event that is waited for, NONE: not known, or no event
				 */
	uint16_t api;		/* of WAIT_CALL, and of a file of another tool, 0: not known */
	uint64_t ns, count;
};

/* A call that counts, as CUPTI has not reported it; a later part of the trace may have the report. */
struct wait_open {
	uint64_t number; /* model_call.number */
	uint64_t start_ns, end_ns;
	struct tally_key key; /* in waits.calls */
};

struct waits {
	const struct model *model; /* the latest part */
	/* caller_place, kind_of() of waits.c, stream or caller that recorded the event, process */
	struct tally reported;
	struct tally calls; /* caller_place, api, 0, process; of none that is left count is 0 */
	uint64_t until_ns;  /* the end of this part */
	ARRAY(struct wait_open) open;
	uint64_t ns;
	struct wait_row *rows; /* most time first */
	size_t count;
};

void waits_begin_part(struct waits *waits, const struct model *part);
void waits_free(struct waits *waits);
void waits_add_sync(struct waits *waits, const struct sync_event *event);
void waits_add_call(struct waits *waits, const struct call_event *event);
void waits_finish(struct waits *waits, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_WAITS(X)                                                                                              \
	X(WAITS, part, waits_begin_part(&all->waits, event->part))                                                     \
	X(WAITS, call, waits_add_call(&all->waits, event))                                                             \
	X(WAITS, sync, waits_add_sync(&all->waits, event))                                                             \
	X(WAITS, finish, waits_finish(&all->waits, event->lines))                                                      \
	X(WAITS, free, waits_free(&all->waits))

#endif
