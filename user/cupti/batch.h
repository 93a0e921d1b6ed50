/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Records of agent.h on their way to the collector, some 32 KiB at a time. One thread at a time. */
#ifndef GPUTRACE_CUPTI_BATCH_H
#define GPUTRACE_CUPTI_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/agent.h>

struct batch {
	uint32_t used;
	bool own_thread;		   /* who sends it is a thread of the agent's own */
	void (*send)(struct batch *batch); /* what is in it, which is dropped then */
	/* as long as a batch may be; records are multiples of 8 bytes */
	uint8_t data[GPT_AGENT_BATCH_MAX] __attribute__((aligned(8)));
};

/*
 * Room for one record: header filled in, the rest zero, size rounded up to 8.  Sends what is there when it
 * does not fit any more; NULL when it could never fit.  Valid until the next call.
 */
void *batch_add(struct batch *batch, uint16_t type, size_t bytes);

/* Sends what is there. */
void batch_flush(struct batch *batch);

#endif
