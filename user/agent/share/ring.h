/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The agent's end of the ring: any thread writes, without a lock.  The collector may write there what it likes. */
#ifndef GPUTRACE_AGENT_SHARE_RING_H
#define GPUTRACE_AGENT_SHARE_RING_H

#include <stdint.h>

#include <gputrace/share.h>

/* A mapped ring: its data stands twice, one after the other, so that no record is in two pieces. */
struct own_ring {
	union {
		uint64_t bytes; /* of data once, a power of two; out of the collector's reach */
		uint8_t own_page[GPT_SHARE_PAGE];
	};
	struct gpt_share_ring shared;
};

/* Instead of one before, if there was.  It has to stay mapped for ever: any thread may be about to write there. */
void ring_open(struct own_ring *ring);

/* In the child of a fork. */
void ring_forget(void);

/* NULL: there is no ring, or no room in it.  Then one of the two others. */
void *ring_reserve(uint64_t bytes);
void ring_submit(void *record);
void ring_discard(void *record);

/* enum gpt_counter */
void ring_count(uint32_t which);

/* What the collector says of the process, and where the agent's state is said; NULL: there is no ring. */
const volatile struct gpt_share_reader *ring_reader(void);
void ring_state(uint32_t state);
void ring_given_way(uint32_t number);

/* The collector has gone: the memory goes back to the system, and the addresses stay. */
void ring_release(void);

#endif
