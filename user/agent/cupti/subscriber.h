/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How a session gets calls: by API callbacks as CUPTI's subscriber; or, while an idle torch.profiler is the subscriber,
 * by CUPTI's own records of calls (session->borrowed). The agent unsubscribes when another client of CUPTI is about to
 * subscribe.
 */
#pragma once

#include "agent/cupti/session_state.h"

/* Call it before any use of the activity API; false as session_start. */
bool subscriber_take(struct session *session);

/* Starts reporting calls, or reports more kinds of them if more is wanted than before; false as session_start. */
bool subscriber_report_calls(struct session *session);

/* Stops reporting calls; running calls get a moment to return. */
void subscriber_end_calls(struct session *session);

/*
 * Under yield_lock (yield.h), on a thread of the program that is about to subscribe: no client is subscribed on return.
 */
void subscriber_give_up(struct session *session);

void subscriber_leave(struct session *session);
