/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Begins and ends of NVTX ranges on their way from the application's threads to the agent's: a bounded queue with
 * many writers and one reader, without locks.  It may be filled before there is a session: a range that is open when
 * CUDA starts must be known.  Full: counted, not kept.
 */
#ifndef GPUTRACE_AGENT_RANGE_QUEUE_H
#define GPUTRACE_AGENT_RANGE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"

#define RANGES_TEXT_MAX 200u /* of a name; longer ones are truncated */
/* 3.8 MiB, touched as they are used; taken every 20 ms: 800,000 a second. Power of two. */
#define RANGES_MAX (1u << 14)

struct range_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t id;
	uint32_t tid;
	uint16_t what;	 /* enum gpt_agent_range_what */
	uint16_t domain; /* number of it, 0: the default one */
	uint32_t bytes;	 /* of text */
	char text[RANGES_TEXT_MAX];
};

/* Reserves the address space, once; any thread.  False: there is none. */
bool ranges_open(void);

/* Any thread.  text: `bytes` of it, at most RANGES_TEXT_MAX. */
void ranges_push(const struct range_event *event, const char *text);

/*
 * The agent's thread: all that is there into the batch, and how many had no room since the last call.  domain_name: of
 * a domain by its number, "" of the default one.
 */
void ranges_send(struct batch *batch, const char *(*domain_name)(uint32_t number));

/* In the child of a fork: what the parent had in the queue is the parent's. */
void ranges_forked(void);

#endif
