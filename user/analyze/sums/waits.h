/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which lines wait for the GPU, how long, and for what: from CUPTI's records where they were asked for (--trace sync),
 * else from the time in calls that wait.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "base/array.h"

/* Used instead of an enum gpt_agent_sync_kind where CUPTI gave no synchronisation record: only the call is known. */
#define WAIT_CALL UINT32_MAX

struct wait_row {
	uint32_t line;
	uint32_t process;		/* as in line_tally_row */
	uint32_t user_line, user_lines; /* as in line_tally_row */
	uint32_t kind;			/* enum gpt_agent_sync_kind, WAIT_CALL */
	uint32_t stream;		/* the stream that is waited for, NONE */
	uint32_t recorded_line;		/* of the call that recorded the awaited event, NONE: not known, or no event */
	uint16_t api;			/* of WAIT_CALL, and in a file of another tool; 0: not known */
	uint64_t ns, count;
};

/* A call that was counted because CUPTI has not reported it; a later part of the trace may have the report. */
struct wait_open {
	uint64_t number; /* model_call.number */
	uint64_t start_ns, end_ns;
	struct tally_key key; /* in waits.calls */
};

struct waits {
	const struct model *model; /* the latest part */
	/* caller_place, kind_of() of waits.c, stream or caller that recorded the event, process */
	struct tally reported;
	struct tally calls; /* caller_place, api, 0, process; count 0: all were taken back */
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

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_WAITS(X)                                                                                              \
	X(WAITS, part, waits_begin_part(&all->waits, event->part))                                                     \
	X(WAITS, call, waits_add_call(&all->waits, event))                                                             \
	X(WAITS, sync, waits_add_sync(&all->waits, event))                                                             \
	X(WAITS, finish, waits_finish(&all->waits, event->lines))                                                      \
	X(WAITS, free, waits_free(&all->waits))
