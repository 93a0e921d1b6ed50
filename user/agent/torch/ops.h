/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The session of PyTorch's ops: a thread of its own that waits for a PyTorch, has its ops observed as long as someone
 * listens who wants them, and hands them over.  It needs no CUDA and knows nothing of CUPTI.
 */
#ifndef GPUTRACE_AGENT_OPS_H
#define GPUTRACE_AGENT_OPS_H

/* Starts it where it is wanted and does not run; at once back, on any thread. */
void ops_start(void);

#endif
