/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides which followed process gets the agent, and when to try again. The injection itself is inject.h's. */
#pragma once

#include "attach/processes.h"

struct agents {
	struct processes *processes;
	int file_fd;			/* of the agent, from read_only_open; -1: no process gets it */
	const struct probed_file *file; /* the same file, for its counters */
	const char *asked;		/* the request to the agent: GPUTRACE_AGENT_START */
	bool ops;			/* the agent shall observe PyTorch's ops */
	attach_emit emit;
	void *emit_context;
};

/*
 * Lets the agent into every process that uses CUDA (or PyTorch, for its ops), has no agent at work and whose next try
 * is due, and checks the tries under way. Does not wait. Returns how many processes are still to be tried or have not
 * answered yet.
 */
unsigned agents_tick(struct agents *agents, uint64_t now_ns);

/*
 * Whether an agent that has connected may join gputrace (share/): not while torch.profiler records in its process. That
 * may have gone unseen before, if only the agent can read the process's memory. If false the agent is tried again.
 */
bool agents_may_join(struct agents *agents, struct followed *process);

/* Repeats agents_tick until all have answered or could not be entered, at most timeout_ms. */
void agents_settle(struct agents *agents, unsigned timeout_ms);

/* The trace of this process ends: if the agent was still being let in, adds a note about what prevented it last. */
void agents_report_waiting(const struct agents *agents, struct followed *process);

/* Stops letting agents in. Takes up to half a second if an injection is under way. */
void agents_end_entering(struct agents *agents);

/* A process that could not be entered, NULL: none. */
const struct followed *agents_refused(const struct agents *agents);
