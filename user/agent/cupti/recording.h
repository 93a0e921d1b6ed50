/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What CUPTI's activity API records for us: our buffers and the kinds that are wanted. */
#ifndef GPUTRACE_AGENT_RECORDING_H
#define GPUTRACE_AGENT_RECORDING_H

#include "agent/session_state.h"

/* Registers our buffers and enables our kinds; false as session_fail. */
bool recording_begin(struct session *session);

/* Enables our kinds, what is wanted now; false as session_fail. */
bool recording_enable(struct session *session);

/* Disables what we enabled. */
void recording_end(struct session *session);

#endif
