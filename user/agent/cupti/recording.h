/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The agent's part of CUPTI's activity API: its buffers and the requested kinds. */
#pragma once

#include "agent/cupti/session_state.h"

/* Registers the agent's buffers and enables its kinds; false as session_fail. */
bool recording_begin(struct session *session);

/* Enables the kinds that are wanted now; false as session_fail. */
bool recording_enable(struct session *session);

/* Disables the kinds that the agent enabled. */
void recording_end(struct session *session);
