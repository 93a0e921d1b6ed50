/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The state of a CUPTI session, and how it is reported. session.c owns it; subscriber.c, recording.c and yield.c each
 * do a part of its work. Of these three only recording.c is used by the others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"
#include "agent/process/clock.h"
#include "agent/process/flush_timer.h"
#include "cupti/cupti_abi.h"
#include "agent/cupti/find_cupti.h"
#include "cupti/names.h"
#include "cupti/records.h"

struct session {
	struct cupti cupti;
	struct found_cuda cuda;
	void *subscriber;	/* NULL: borrowed */
	bool shares_subscriber; /* torch.profiler holds the subscriber and is idle: calls come as records, not as
				   callbacks */
	struct batch batch;
	struct names names;
	struct records records;
	struct clock_watch clock;
	uint64_t cupti_dropped, dropped_unknown; /* records; queries that failed */
	struct flush_timer flush;
	uint64_t next_sample_ns;
	uint32_t enabled_kinds; /* bit i: records_kinds[i] */
	uint32_t wanted;	/* bit i: enum gpt_agent_activity_set, requested at the session's start */
	uint32_t recorded_sets; /* the same, as CUPTI provides them */
	unsigned flushes_since_call;
	bool dumped;
	bool recorded; /* the agent's kinds have been enabled */
	bool rests;    /* no step is being recorded (schedule.h) */
	bool away;     /* another client has the activity API (yield.h) */
	bool refused;  /* the API is free, but CUPTI refused to let the agent take it */
	uint64_t away_wall_ns;
	uint64_t undecided_ns; /* when it went away; 0: the gputrace kinds that the other client also wants are known */
	uint64_t expected_ns;  /* when another client was about to register; 0: none is, or it has registered */
	uint64_t next_call_ns; /* next attempt to get back buffers that CUPTI holds */
	bool unsettled;	       /* taken up again, while YIELD still is the previous session's */
	uint64_t order_seen_ns; /* since when YIELD is raised without RESUME; 0: it is not */
	unsigned calls_left;	/* attempts left of next_call_ns */
	uint32_t work_corr;	/* of the latest reported launch that has returned and is no part of a graph; 0: none */
	uint64_t stale_until_ns; /* until then RESUME may be a previous session's */
	void (*wake)(void);	 /* any thread: wakes the agent's thread */

	/* why it did not start, or the last asynchronous error */
	uint32_t failure; /* enum gpt_agent_failure */
	uint32_t result;  /* CUptiResult */
	char detail[256];
};

/* State of a running session for the collector: enum gpt_agent_state. */
uint32_t session_state(const struct session *session);

/*
 * Whether a listener wants that set: enum gpt_agent_activity_set, GPT_AGENT_SET_COUNT for kinds that are always wanted.
 */
bool session_wants(const struct session *session, unsigned set);

/* Notes why a call of CUPTI failed; returns false. */
bool session_fail(struct session *session, uint32_t failure, uint32_t result, const char *what);

/* Sends a HELLO with the state and with session->failure, result and detail. */
void session_hello(struct session *session, uint32_t state);
