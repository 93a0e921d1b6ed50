/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How late a long source reports its events, collected in pass 1.  From it pass 2 knows, after each chunk, the time
 * before which no more events start, and the calls to which no later event refers.
 *
 * A chunk is a piece of the source, numbered from 0; the reader chooses their length, the same in both passes.  Some
 * events come very late: the record of a kernel that ran for minutes, the return of a call that waited as long, all
 * records that another profiler held back.  They would delay every part, so they are deferred (deferred.h).
 */
#pragma once

#include "base/array.h"
#include "model/events.h"

/* An event is late if it comes this long after its start, or this many calls of its process after its own call. */
#define LATENESS_DEFER_NS 3000000000u
#define LATENESS_DEFER_CALLS (1u << 20)

/* The least value in a chunk; after lateness_finish, in the chunk and all later ones. */
struct lateness_least {
	uint64_t value;
	uint32_t chunk;
};

/* Correlation ids of an address space.  CUPTI's 32-bit ids are extended to 64 bits here. */
struct lateness_epoch {
	bool any; /* some call had one */
	uint64_t first, latest;
	ARRAY(struct lateness_least) references; /* ids to which returns, GPU operations and so on refer */
};

/* Start times on one clock. */
struct lateness_clock {
	ARRAY(struct lateness_least) begins;
};

struct lateness_index {
	uint32_t chunk;			     /* being read */
	ARRAY(struct lateness_epoch) epochs; /* by number of the address space */
	ARRAY(struct lateness_clock)
	clocks; /* [0] is CLOCK_MONOTONIC, [process + 1] a process's CLOCK_REALTIME */
	ARRAY(uint64_t)
	begins; /* after lateness_finish, by chunk: the earliest start in the chunk and all later ones */
};

void lateness_free(struct lateness_index *lateness);

/* NULL: no call of the epoch had a correlation id. */
static inline struct lateness_epoch *lateness_epoch(const struct lateness_index *lateness, uint32_t number)
{
	struct lateness_epoch *epoch = number < lateness->epochs.count ? &lateness->epochs.items[number] : NULL;

	return epoch && epoch->any ? epoch : NULL;
}

/* The 64-bit id nearest to the latest one. */
static inline uint64_t lateness_id(const struct lateness_epoch *epoch, uint32_t corr)
{
	int64_t ahead = (int32_t)(corr - (uint32_t)epoch->latest);

	return epoch->latest + (uint64_t)ahead;
}

/*
 * Ids slightly below the first can also be of calls in the trace: a thread may be delayed between getting its id and
 * its call.
 */
#define LATENESS_BEFORE_FIRST 4096

/* Whether an id is of a call in the trace; epoch NULL: no. */
static inline bool lateness_refers(const struct lateness_epoch *epoch, uint32_t corr)
{
	return epoch && corr && lateness_id(epoch, corr) + LATENESS_BEFORE_FIRST >= epoch->first;
}

/* The first correlation id of an epoch. */
void lateness_begin_epoch(struct lateness_index *lateness, uint32_t epoch, uint32_t corr);

/* A call has this correlation id (0: none). */
static inline void lateness_see_call(struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	struct lateness_epoch *epoch = lateness_epoch(lateness, number);

	if (epoch && corr && lateness_id(epoch, corr) > epoch->latest)
		epoch->latest = lateness_id(epoch, corr);
	else if (!epoch && corr)
		lateness_begin_epoch(lateness, number, corr);
}

/* Extends a correlation id close to the latest calls' to 64 bits; 0: no call of the epoch has an id. */
static inline uint64_t lateness_unwrap(const struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	const struct lateness_epoch *epoch = lateness_epoch(lateness, number);

	return epoch ? lateness_id(epoch, corr) : 0;
}

/* Whether an event that refers to this call is late.  An id of 0, or before the first, refers to no call. */
static inline bool lateness_defers_reference(const struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	const struct lateness_epoch *epoch = lateness_epoch(lateness, number);

	return lateness_refers(epoch, corr) && lateness_id(epoch, corr) + LATENESS_DEFER_CALLS < epoch->latest;
}

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

/*
 * For events that are not late: notes a reference to a call; a start on CLOCK_REALTIME or (process NONE)
 * CLOCK_MONOTONIC.
 */
void lateness_note_reference(struct lateness_index *lateness, uint32_t epoch, uint32_t corr);
void lateness_note_begin(struct lateness_index *lateness, uint32_t process, uint64_t time_ns);

/* After the last event.  to_monotonic converts a CLOCK_REALTIME time of a process. */
void lateness_finish(struct lateness_index *lateness,
		     uint64_t (*to_monotonic)(void *context, uint32_t process, uint64_t wall_ns), void *context);

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

/* No event of the chunk or a later one starts before this time; UINT64_MAX: they have no events. */
uint64_t lateness_begins(const struct lateness_index *lateness, uint32_t chunk);

/* The chunk and later ones refer to no call of the epoch with a lower correlation id (lateness_unwrap). */
uint64_t lateness_references(const struct lateness_index *lateness, uint32_t epoch, uint32_t chunk);
