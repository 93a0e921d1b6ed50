/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The agent's end of the ring: any thread writes, without a lock. The collector can write anything there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/share.h>

/* A mapped ring: its data is mapped twice in a row, so that every record is contiguous. */
struct own_ring {
	union {
		uint64_t bytes; /* of data, counted once, a power of two; the collector cannot write it */
		uint8_t own_page[GPT_SHARE_PAGE];
	};
	struct gpt_share_ring shared;
};

/* Replaces a previous ring. The ring must stay mapped for ever: any thread may be about to write there. */
void ring_open(struct own_ring *ring);

/* In the child of a fork. */
void ring_forget(void);

/* NULL: there is no ring, or no room in it. Else call ring_submit or ring_discard. */
void *ring_reserve(uint64_t bytes);
void ring_submit(void *record);
void ring_discard(void *record);

/* The rest is left to launches and to the records of GPUs. */
bool ring_is_nearly_full(void);

/* enum gpt_counter */
void ring_count(uint32_t which);

/* ring_reader: the collector's page, NULL: no ring. The other two set fields of the agent's page. */
const volatile struct gpt_share_reader *ring_reader(void);
void ring_state(uint32_t state);
void ring_given_way(uint32_t number);

/* The collector has gone: returns the memory to the system; the addresses stay mapped. */
void ring_release(void);
