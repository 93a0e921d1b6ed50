/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Calls that returned, and nodes of graphs, on their way from the application's threads to the agent's: a bounded queue
 * with many writers and one reader, without locks.  Full: the return is counted, not kept.
 */
#ifndef GPUTRACE_AGENT_RETURNS_H
#define GPUTRACE_AGENT_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

/* 5 MiB; 0.25 s of the fastest launching seen (two threads, 250,000 calls a second each). Power of two. */
#define RETURNS_MAX (1u << 17)

struct call_return {
	union {
		struct {
			uint64_t start_ns, end_ns;
		};
		struct {
			uint64_t node, source; /* as gpt_agent_graph_node */
		};
	};
	uint32_t corr, tid;
	int32_t result;
	uint16_t api;	/* 0: not a return, a node of a graph */
	uint16_t flags; /* as gpt_agent_api */
};

/* Maps and touches the queue, so that no application thread takes its page faults. False: no memory. */
bool returns_open(void);

/* Empties it and sets the count of dropped ones to 0; no writer may be active. */
void returns_reset(void);

/* Gives the memory back to the kernel; a writer that is late does no harm. */
void returns_release(void);

void returns_push(const struct call_return *call);
bool returns_pop(struct call_return *call);
uint64_t returns_dropped(void);

/* A return that could not even be described. */
void returns_count_dropped(void);

#endif
