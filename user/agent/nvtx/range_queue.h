/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A bounded lock-free queue of starts and ends of NVTX ranges, from the application's threads (many writers) to the
 * agent's (one reader). It is also filled before a session: a range that is open when CUDA starts must be known. When
 * it is full, events are counted and dropped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"

#define RANGES_TEXT_MAX 200u /* of a name; longer ones are truncated */
/* 3.8 MiB, touched as used; emptied every 20 ms: 800,000 a second. Power of two. */
#define RANGES_MAX (1u << 14)

struct range_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t id;
	uint32_t tid;
	uint16_t what;	 /* enum gpt_agent_range_what */
	uint16_t domain; /* its number, 0: the default one */
	uint32_t bytes;	 /* of text */
	char text[RANGES_TEXT_MAX];
};

/* Reserves the address space, once; on any thread. False: no address space. */
bool ranges_open(void);

/* On any thread. text: event->bytes long, at most RANGES_TEXT_MAX. */
void ranges_push(const struct range_event *event, const char *text);

/*
 * On the agent's thread: puts all queued events into the batch, and the number dropped since the last call.
 * domain_name: gives a domain's name by its number, "" for the default one.
 */
void ranges_send(struct batch *batch, const char *(*domain_name)(uint32_t number));

/* In the child of a fork: discards the parent's events. */
void ranges_forked(void);
