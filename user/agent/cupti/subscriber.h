/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How a session hears of calls: as CUPTI's subscriber, by API callbacks; or, where an idle torch.profiler is the
 * subscriber, by CUPTI's own records of them (session->borrowed).  The agent unsubscribes when another client of CUPTI
 * is about to subscribe.
 */
#ifndef GPUTRACE_AGENT_SUBSCRIBER_H
#define GPUTRACE_AGENT_SUBSCRIBER_H

#include "agent/session_state.h"

/* Before anything of the activity API; false as session_start. */
bool subscriber_take(struct session *session);

/* Reports calls from here on, or more of them when more is wanted than before; false as session_start. */
bool subscriber_report_calls(struct session *session);

/* Reports no more calls; calls that are running get a moment to return. */
void subscriber_end_calls(struct session *session);

/* Held (yield.h), on a thread of the program that is about to subscribe: no one is subscribed when this returns. */
void subscriber_give_up(struct session *session);

void subscriber_leave(struct session *session);

#endif
