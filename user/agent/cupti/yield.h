/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Giving way to another user of the activity API.  CUPTI fills the buffers of the client that registered last, and what
 * one disables is disabled for all: so from the moment another has registered until it has all its records, nothing of
 * the activity API is touched.  Calls are still reported: the subscriber is the agent's.
 *
 * No one knows what CUPTI does with buffers of gputrace's that are open at that moment: it may go on filling them with
 * what the other has asked for.  So before the other registers all of them are called in (intercept.h reports it);
 * where that cannot be, as soon as we know, and what the other has lost meanwhile is counted.
 */
#ifndef GPUTRACE_AGENT_YIELD_H
#define GPUTRACE_AGENT_YIELD_H

#include "agent/session_state.h"

/*
 * Around a session's start and all that the agent's thread does with it: meanwhile another that is about to register
 * or to subscribe waits, up to a second.
 */
void yield_hold(void);
void yield_let_go(void);

/*
 * Held, before CUPTI is used: from now on another that is about to register or to subscribe waits until the session has
 * begun.  yield_watch ends it.
 */
void yield_hear(const struct session *session);

/* Held, at every tick: from now on we hear of others before they register or subscribe.  NULL: no more. */
void yield_watch(struct session *session);

/* In the child of a fork there is no agent. */
void yield_forked(void);

/* Does what the collector's counters say (agent.h); at every tick, and before the session ends. */
void yield_follow(struct session *session);

/*
 * Our session begins while another CUPTI client is in a session of its own.  The activity API is not used until the
 * other client has finished.
 */
void yield_begin(struct session *session);

/*
 * Called before our session ends while another client's session goes on.  Waits at most 0.25 s until the activity kinds
 * that only we use are disabled.
 */
void yield_decide(struct session *session);

/* CUPTI stamps records by the wall clock, also where another has given it a clock of its own; before any Enable. */
void yield_own_clock(const struct cupti *cupti);

/* Takes what CUPTI had written into our buffers before it forgot them. */
void yield_reclaim(struct session *session);

#endif
