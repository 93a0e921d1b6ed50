/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which followed process gets the agent, and when it is tried again.  The way in is inject.h's. */
#ifndef GPUTRACE_ATTACH_AGENTS_H
#define GPUTRACE_ATTACH_AGENTS_H

#include "attach/processes.h"

struct agents {
	struct processes *processes;
	int file_fd;			/* of the agent, from read_only_open; -1: no one gets it */
	const struct probed_file *file; /* the same, for its counters */
	const char *asked;		/* what it is asked to do: GPUTRACE_AGENT_START */
	bool ops;			/* it shall observe PyTorch's ops */
	attach_emit emit;
	void *emit_context;
};

/*
 * Has the agent let into every process that uses CUDA (or PyTorch, for its ops) and has none at work, if its time has
 * come, and sees what has become of that; does not wait.  The number of those that are still to be tried or have not
 * answered yet.
 */
unsigned agents_tick(struct agents *agents, uint64_t now_ns);

/*
 * Whether the agent that has come may come together with gputrace (share/): not while torch.profiler records in its
 * process, which may not have been seen before, as its memory can be read by the agent alone.  If not it is tried
 * again.
 */
bool agents_may_join(struct agents *agents, struct followed *process);

/* The same until all have answered or could not be entered, at most timeout_ms. */
void agents_settle(struct agents *agents, unsigned timeout_ms);

/* The trace of this process ends: where the agent was still being let in a note says what kept it out last. */
void agents_report_waiting(const struct agents *agents, struct followed *process);

/* No agent is let in any more. Takes up to half a second where one is just coming in. */
void agents_end_entering(struct agents *agents);

/* A process that could not be entered, NULL none. */
const struct followed *agents_refused(const struct agents *agents);

#endif
