/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A bounded lock-free queue of returned calls and graph nodes, from the application's threads (many writers) to the
 * agent's (one reader). When it is full, the return is counted and dropped.
 */
#pragma once

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

/* Empties it and resets the count of dropped returns; no writer may be active. */
void returns_reset(void);

/* Returns the memory to the kernel; a late writer does no harm. */
void returns_release(void);

void returns_push(const struct call_return *call);
bool returns_pop(struct call_return *call);
uint64_t returns_dropped(void);

/* Counts a dropped return that never reached the queue. */
void returns_count_dropped(void);
