/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How late a long source reports what happened.  Pass 1 collects it.  So pass 2 knows, after each chunk, the time
 * before which no more events arrive, and the calls to which nothing more will refer.
 *
 * A chunk is a piece of the source, numbered from 0; the reader chooses their length, the same in both passes.  Some
 * events come very late: the record of a kernel that ran for minutes, the return of a call that waited as long, all
 * that another profiler kept for itself.  They would hold up everything, so they are deferred (deferred.h).
 */
#ifndef GPUTRACE_MODEL_LATENESS_H
#define GPUTRACE_MODEL_LATENESS_H

#include "base/array.h"
#include "model/events.h"

/* An event is late that comes this long after its start, or this many calls of its process after its own. */
#define LATENESS_DEFER_NS 3000000000u
#define LATENESS_DEFER_CALLS (1u << 20)

/* The least value in a chunk; after lateness_finish, in it and all later ones. */
struct lateness_least {
	uint64_t value;
	uint32_t chunk;
};

/* Correlation ids of an address space.  CUPTI counts in 32 bits, here they go on in 64. */
struct lateness_epoch {
	bool any; /* some call had one */
	uint64_t first, latest;
	ARRAY(struct lateness_least) references; /* what returns, GPU operations and so on refer to */
};

/* Begins by one clock. */
struct lateness_clock {
	ARRAY(struct lateness_least) begins;
};

struct lateness_index {
	uint32_t chunk;			     /* that is being read */
	ARRAY(struct lateness_epoch) epochs; /* by number of the address space */
	ARRAY(struct lateness_clock)
	clocks;			/* the first is CLOCK_MONOTONIC; the others by process, one more than that */
	ARRAY(uint64_t) begins; /* after lateness_finish, by chunk: the earliest start in it and all later ones */
};

void lateness_free(struct lateness_index *lateness);

/* NULL: no call of the epoch had a correlation id. */
static inline struct lateness_epoch *lateness_epoch(const struct lateness_index *lateness, uint32_t number)
{
	struct lateness_epoch *epoch = number < lateness->epochs.count ? &lateness->epochs.items[number] : NULL;

	return epoch && epoch->any ? epoch : NULL;
}

/* The id in 64 bits that is nearest to the latest one. */
static inline uint64_t lateness_id(const struct lateness_epoch *epoch, uint32_t corr)
{
	int64_t ahead = (int32_t)(corr - (uint32_t)epoch->latest);

	return epoch->latest + (uint64_t)ahead;
}

/* Ids below the first may be of calls in the trace, too: a thread had to wait between id and call. */
#define LATENESS_BEFORE_FIRST 4096

/* Whether an id is that of a call in the trace; epoch NULL: it is not. */
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

/* A correlation id that is like those of the latest calls, in 64 bits; 0: the epoch has no call with one. */
static inline uint64_t lateness_unwrap(const struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	const struct lateness_epoch *epoch = lateness_epoch(lateness, number);

	return epoch ? lateness_id(epoch, corr) : 0;
}

/* Whether what refers to this call comes late.  0, or of a call before the first: it refers to none. */
static inline bool lateness_defers_reference(const struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	const struct lateness_epoch *epoch = lateness_epoch(lateness, number);

	return lateness_refers(epoch, corr) && lateness_id(epoch, corr) + LATENESS_DEFER_CALLS < epoch->latest;
}

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

/* Of events that are not late: a reference to a call; a start by CLOCK_REALTIME or (process NONE) CLOCK_MONOTONIC. */
void lateness_note_reference(struct lateness_index *lateness, uint32_t epoch, uint32_t corr);
void lateness_note_begin(struct lateness_index *lateness, uint32_t process, uint64_t time_ns);

/* After the last: to_monotonic converts a time of a process by CLOCK_REALTIME. */
void lateness_finish(struct lateness_index *lateness,
		     uint64_t (*to_monotonic)(void *context, uint32_t process, uint64_t wall_ns), void *context);

/* ---- what it says ------------------------------------------------------------------------------------------------ */

/* No event of the chunk or a later one starts before this; UINT64_MAX: they have none. */
uint64_t lateness_begins(const struct lateness_index *lateness, uint32_t chunk);

/* The chunk and later ones refer to no call of the epoch with a lower correlation id (lateness_unwrap). */
uint64_t lateness_references(const struct lateness_index *lateness, uint32_t epoch, uint32_t chunk);

#endif
