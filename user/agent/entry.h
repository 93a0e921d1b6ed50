/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How the agent is entered. */
#ifndef GPUTRACE_AGENT_ENTRY_H
#define GPUTRACE_AGENT_ENTRY_H

/*
 * What the CUDA driver calls in cuInit after it loaded the library that CUDA_INJECTION64_PATH names.
 * Returns 1, or what the injection library that the user had there (GPUTRACE_CHAINED_INJECTION) returns.
 */
int InitializeInjection(void);

/* Starts a session in this process and its thread; nothing when nobody listens or one runs already. */
void agent_start(void);

#endif
