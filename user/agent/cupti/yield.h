/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Yielding to another client of the activity API. CUPTI fills the buffers of the client that registered last, and a
 * kind disabled by one client is disabled for all. So from another client's registration until it has all its records,
 * the agent does not touch the activity API. Calls are still reported: the subscriber is the agent's.
 *
 * What CUPTI does with the agent's open buffers at that moment is not documented: it may fill them further with records
 * that the other client requested. So all of them are flushed before the other registers (intercept.h detects it);
 * where that is impossible, as soon as the agent knows, and the records that the other client lost meanwhile are
 * counted.
 */
#pragma once

#include "agent/cupti/session_state.h"

/*
 * A lock around a session's start and all work of the agent's thread on it. Another client that is about to register or
 * to subscribe waits for it, up to a second.
 */
void yield_lock(void);
void yield_unlock(void);

/*
 * Under yield_lock, before CUPTI is used: from now on another client that is about to register or to subscribe waits
 * until the session has begun. yield_watch ends this.
 */
void yield_intercept(const struct session *session);

/*
 * Under yield_lock, at every tick: from now on other clients are detected before they register or subscribe. NULL: ends
 * this.
 */
void yield_watch(struct session *session);

/* In the child of a fork, which has no agent. */
void yield_forked(void);

/* Follows the collector's counters (agent.h); at every tick, and before the session ends. */
void yield_follow(struct session *session);

/*
 * The agent's session begins during another CUPTI client's session. The activity API is not used until the other client
 * has finished.
 */
void yield_begin(struct session *session);

/*
 * Called before the agent's session ends during another client's session. Waits at most 0.25 s until the activity kinds
 * that only the agent uses are disabled.
 */
void yield_decide(struct session *session);

/*
 * Makes CUPTI stamp records by the wall clock, even if another client registered a clock of its own; before any Enable.
 */
void yield_own_clock(const struct cupti *cupti);

/* Takes the records that CUPTI had written into the agent's buffers before it forgot them. */
void yield_reclaim(struct session *session);
