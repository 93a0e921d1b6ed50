/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a CUPTI session knows, and says of itself.  session.c owns it; subscriber.c, recording.c and yield.c each do a
 * part of its work on it, and none of them needs another but recording.
 */
#ifndef GPUTRACE_AGENT_SESSION_STATE_H
#define GPUTRACE_AGENT_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"
#include "agent/clock.h"
#include "cupti/cupti_abi.h"
#include "agent/cupti/find_cupti.h"
#include "cupti/names.h"
#include "cupti/records.h"

struct session {
	struct cupti cupti;
	struct found_cuda cuda;
	void *subscriber; /* NULL: borrowed */
	bool borrowed;	  /* torch.profiler holds the subscriber and is idle: calls come as records, not as callbacks */
	struct batch batch;
	struct names names;
	struct records records;
	struct clock_watch clock;
	uint64_t cupti_dropped, dropped_unknown; /* records; questions that failed */
	uint64_t next_flush_ns, next_sample_ns;
	uint32_t enabled_kinds; /* bit i: records_kinds[i] */
	uint32_t wanted;	/* bit i: enum gpt_agent_activity_set, asked for when the session began */
	uint32_t recorded_sets; /* the same, what CUPTI gives */
	unsigned flushes_since_call;
	bool dumped;
	bool recorded; /* our kinds have been enabled */
	bool rests;    /* no step is recorded just now (schedule.h) */
	bool away;     /* another has the activity API (yield.h) */
	bool refused;  /* it is free, but CUPTI did not let us take it up */
	uint64_t away_wall_ns;
	uint64_t undecided_ns;	 /* when it went away; 0: known what of gputrace's the other wants too */
	uint64_t expected_ns;	 /* when another was about to register; 0: none is, or it has */
	uint64_t next_call_ns;	 /* of buffers that CUPTI has not given back */
	bool unsettled;		 /* taken up again, and YIELD is still that of the session before */
	uint64_t order_seen_ns;	 /* since when YIELD is up alone; 0: it is not */
	unsigned calls_left;	 /* of those */
	uint64_t stale_until_ns; /* up to then RESUME may be that of a session before */
	void (*wake)(void);	 /* any thread: makes the agent's look at once */

	/* why it did not start, or the last asynchronous error */
	uint32_t failure; /* enum gpt_agent_failure */
	uint32_t result;  /* CUptiResult */
	char detail[256];
};

/* What the collector is to know of a session that runs: enum gpt_agent_state. */
uint32_t session_state(const struct session *session);

/* Whether someone listens for that: enum gpt_agent_activity_set, GPT_AGENT_SET_COUNT for what is always wanted. */
bool session_wants(const struct session *session, unsigned set);

/* Notes why a call of CUPTI failed; false. */
bool session_fail(struct session *session, uint32_t failure, uint32_t result, const char *what);

/* Sends a HELLO with the state and with session->failure, result and detail. */
void session_hello(struct session *session, uint32_t state);

#endif
