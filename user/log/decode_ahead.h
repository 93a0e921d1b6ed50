/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes segments on other threads (base/threads/workers.h), and returns them in the order in which they were put in.
 *One thread puts in and takes out; it decodes, too, instead of waiting.  The number and the bytes of the segments under
 *way are bounded.
 *
 *	while ((segment = decode_ahead_room(ahead)) && read_into(segment))
 *		decode_ahead_put(ahead);
 *	while ((segment = decode_ahead_oldest(ahead, &err))) ... decode_ahead_done(ahead);
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/threads/workers.h"
#include "log/segment_decode.h"

#define DECODE_THREADS_MAX (WORKERS_MAX + 1)
/* One that the caller reads, one for each thread, one that waits. */
#define DECODE_AHEAD_MAX (DECODE_THREADS_MAX + 2)

struct decode_slot {
	struct decode_ahead *ahead;
	struct log_segment segment;
	struct work work;
	int error;	/* of log_segment_decode() */
	uint64_t bytes; /* that it takes, by its header in the file */
};

struct decode_ahead {
	const struct schema *schema;
	unsigned threads; /* that decode, including the caller */
	struct decode_slot slots[DECODE_AHEAD_MAX];
	unsigned first, count; /* slots that were put in and are not done yet */
	uint64_t bytes;	       /* that they take */

	pthread_mutex_t lock; /* guards what follows */
	struct log_decoder decoders[DECODE_AHEAD_MAX];
	bool taken[DECODE_AHEAD_MAX];
};

/* Decodes on all worker threads and the caller's.  The schema stays the caller's. */
void decode_ahead_open(struct decode_ahead *ahead, const struct schema *schema);
/* Sets how many segments are decoded at once; 1: only the caller decodes.  To be called before the first is put in. */
void decode_ahead_use(struct decode_ahead *ahead, unsigned threads);
void decode_ahead_close(struct decode_ahead *ahead);

/* Where to read the next segment to; NULL: enough is under way. */
struct log_segment *decode_ahead_room(struct decode_ahead *ahead);
/* Puts in what was read there, to be decoded. */
void decode_ahead_put(struct decode_ahead *ahead);

/* The oldest that is not done, decoded or damaged (-EPROTO); NULL: there is none. */
struct log_segment *decode_ahead_oldest(struct decode_ahead *ahead, int *error);
/* The caller is done with the oldest: its slot is free for another. */
void decode_ahead_done(struct decode_ahead *ahead);
/* With nothing under way: frees memory that decoding allocates again when there is more. */
void decode_ahead_rest(struct decode_ahead *ahead);
/* decode_ahead_done for all that were put in. */
void decode_ahead_drop(struct decode_ahead *ahead);
