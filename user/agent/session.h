/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One CUPTI session, from subscribing to leaving. Turns CUPTI's records into batches. agent.c handles threads and the
 * life of the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/cupti/session_state.h"

/*
 * Under yield_lock (cupti/yield.h). Subscribes, or works without where only Kineto is subscribed, and switches
 * everything on; session->cupti and session->cuda must be filled. False: session->failure, result and detail say why,
 * and CUPTI is as before.
 */
bool session_start(struct session *session);

/*
 * Under yield_lock. Repeats one-time records for a new listener: HELLO now, names and devices when they are next
 * needed.
 */
void session_repeat(struct session *session);

/* The regular work, at least every 20 ms: takes records, watches the clock, flushes and sends counts when due. */
void session_tick(struct session *session);

/*
 * Leaves CUPTI. wait_ns: how long to wait for running GPU work before its records are taken without times. Sends
 * everything that is left, the last STATS and a HELLO (GPT_AGENT_STOPPED).
 */
void session_stop(struct session *session, uint64_t wait_ns);
