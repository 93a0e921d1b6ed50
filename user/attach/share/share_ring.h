/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The collector's end of an agent's ring (gputrace/share.h).  The process that writes it is hostile: positions, heads
 * and records are checked, and a record is copied before it is looked at.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/share.h>

struct share_ring {
	int fd;
	struct gpt_share_ring *shared; /* with its data mapped twice */
	uint64_t bytes;		       /* size of the data */
	uint64_t consumed, bytes_max;
	uint64_t malformed; /* invalid records, and records that were only partly written when the process ended */
	bool broken;	    /* nothing more is read from it */
};

typedef void (*share_record)(void *context, const struct gpt_record *record);

/* bytes: a power of two, of whole pages. -errno */
int share_ring_open(uint64_t bytes, struct share_ring *out);
void share_ring_close(struct share_ring *ring);

/*
 * Passes the available records to `record`, as those of process `pid`; room: GPT_RECORD_MAX bytes. over: the process
 * has ended, so unfinished records will never be finished. Returns how many bytes it took.
 */
uint64_t share_ring_consume(struct share_ring *ring, uint32_t pid, bool over, void *room, share_record record,
			    void *context);
