/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Batches of records of agent.h on their way to the collector, some 32 KiB each.  Not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/agent.h>

struct batch {
	uint32_t used;
	bool own_thread;		   /* sent by a thread of the agent's own */
	void (*send)(struct batch *batch); /* sends the records; the batch drops them afterwards */
	/* the largest batch; records are multiples of 8 bytes */
	uint8_t data[GPT_AGENT_BATCH_MAX] __attribute__((aligned(8)));
};

/*
 * Returns room for one record: header filled in, the rest zero, size rounded up to 8.  Sends the batch first if the
 * record does not fit; NULL if it could never fit.  Valid until the next call.
 */
void *batch_add(struct batch *batch, uint16_t type, size_t bytes);

/* Sends the records collected so far. */
void batch_flush(struct batch *batch);
