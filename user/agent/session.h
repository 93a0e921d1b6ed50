/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One CUPTI session: from subscribing to leaving.  Turns what CUPTI delivers into batches.  Knows neither
 * threads nor the process's life; agent.c does.
 */
#ifndef GPUTRACE_AGENT_SESSION_H
#define GPUTRACE_AGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/session_state.h"

/*
 * Held (cupti/yield.h).  Subscribes, or does without where only Kineto has, and switches everything on; session->cupti
 * and session->cuda are filled.  False: session->failure, result and detail say why, and CUPTI is as it was before.
 */
bool session_start(struct session *session);

/* Held.  Says again, to someone who has come later, what is said once: HELLO now, names and devices when they come up.
 */
void session_repeat(struct session *session);

/* The regular work, at least every 20 ms: takes records, watches the clock, flushes and counts when it is time. */
void session_tick(struct session *session);

/*
 * Leaves CUPTI.  wait_ns: how long GPU work that still runs may take to end before its records are taken
 * without times.  Sends everything that is left, the last STATS and a HELLO (GPT_AGENT_STOPPED).
 */
void session_stop(struct session *session, uint64_t wait_ns);

#endif
