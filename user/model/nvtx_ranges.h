/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges: begins and ends as the agents told them, paired.  Pushes and pops pair on their thread and domain,
 * starts and ends by id.  Everything here is written by targets: hostile.
 */
#ifndef GPUTRACE_MODEL_NVTX_RANGES_H
#define GPUTRACE_MODEL_NVTX_RANGES_H

#include "base/array.h"
#include "model/events.h"
#include "model/lookup.h"
#include "model/model.h"
#include "model/process_table.h"
#include "model/spans.h"
#include "model/string_pool.h"

/* Which program and thread a range of the list belongs to; parallel to the list. */
struct range_owner {
	struct program program;
	uint32_t tid;
};

/* A time in which the agent dropped begins and ends of ranges, because its queue was full. */
struct range_loss {
	uint64_t from_ns, to_ns;
	uint32_t space;
};

struct ranges {
	struct process_table *processes;
	struct string_pool *strings;
	struct spans spans;
	ARRAY(struct range_owner) owners; /* parallel to it */
	ARRAY(uint64_t) latest;		  /* by lane: its latest time, as a thread's times only go on */
	ARRAY(uint64_t) execs;		  /* when a space ended */
	struct lookup by_thread;	  /* (space, tid and domain) to lane */
	struct lookup by_id;		  /* (space, id) to index in the list */
	struct lookup tids;	   /* (space, tid in the process's pid namespace) to thread, where the two differ */
	struct lookup space_execs; /* (space, 0) to execs */
	ARRAY(struct range_loss) losses;
	uint64_t lost;
};

void ranges_init(struct ranges *ranges, struct process_table *processes, struct string_pool *strings, uint64_t seed);
void ranges_free(struct ranges *ranges); /* all but the list, which is the model's */

/* Begins and ends.  False when they do not make sense: a time that runs backwards; it counts as the latest one. */
bool ranges_mark(struct ranges *ranges, struct program program, const struct new_range *range);
bool ranges_push(struct ranges *ranges, struct program program, const struct new_range *range);
bool ranges_pop(struct ranges *ranges, struct program program, const struct new_range *range);
bool ranges_start(struct ranges *ranges, struct program program, const struct new_range *range);
bool ranges_end(struct ranges *ranges, struct program program, const struct new_range *range);

/* Some of these had no room in a stretch of time. */
void ranges_lose(struct ranges *ranges, struct program program, uint64_t count, uint64_t from_ns, uint64_t to_ns);

/* The process calls this thread by another number. */
void ranges_learn_tid(struct ranges *ranges, uint32_t space, uint32_t tid, uint32_t thread);

/* Another program: what is open is over. */
void ranges_process_execs(struct ranges *ranges, uint32_t pid, uint64_t time_ns);

/* After the last record: ends what is open, finds the threads, orders the list by thread and begin. */
void ranges_finish(struct ranges *ranges, uint64_t start_ns, uint64_t end_ns);

#endif
