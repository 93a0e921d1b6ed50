/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Entry points of the agent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The CUDA driver calls this in cuInit after loading the library that CUDA_INJECTION64_PATH names. Returns 1, or the
 * result of the user's own injection library (GPUTRACE_CHAINED_INJECTION).
 */
int InitializeInjection(void);

/* Starts a session in this process and its thread; does nothing without a listener or while a session runs. */
void agent_start(void);

/*
 * The same for a process that already runs: everything slow happens on the agent's thread. If a session runs, another
 * follows it if there still is a listener then. asked: as GPUTRACE_AGENT_START.
 */
void agent_start_deferred(const char *asked);

/* The same if the agent is idle; false: it is not. */
bool agent_start_asked(const char *asked);

/* The collector calls this to wake an agent that is in the process already: see gputrace/agent.h. */
void gputrace_agent_start(const char *asked);
extern const uint32_t gputrace_agent_abi;
extern struct gpt_agent_status gputrace_agent_status;
