/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How the agent is entered. */
#ifndef GPUTRACE_AGENT_ENTRY_H
#define GPUTRACE_AGENT_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the CUDA driver calls in cuInit after it loaded the library that CUDA_INJECTION64_PATH names.
 * Returns 1, or what the injection library that the user had there (GPUTRACE_CHAINED_INJECTION) returns.
 */
int InitializeInjection(void);

/* Starts a session in this process and its thread; nothing when no one listens or one runs already. */
void agent_start(void);

/*
 * The same for a process that already runs: everything slow happens on the agent's thread.  One that runs
 * is followed by another if someone still listens when it ends.  asked: as GPUTRACE_AGENT_START.
 */
void agent_start_deferred(const char *asked);

/* The same where it is idle; false: it is not. */
bool agent_start_asked(const char *asked);

/* What the collector calls to wake an agent that is in the process already: see gputrace/agent.h. */
void gputrace_agent_start(const char *asked);
extern const uint32_t gputrace_agent_abi;

#endif
