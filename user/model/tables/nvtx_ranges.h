/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges: starts and ends as the agents reported them, paired.  Pushes and pops pair on their thread and domain,
 * starts and ends by id.  Everything here is written by targets: hostile.
 */
#ifndef GPUTRACE_MODEL_NVTX_RANGES_H
#define GPUTRACE_MODEL_NVTX_RANGES_H

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "model/tables/process_table.h"
#include "model/tables/spans.h"

/* Which program and thread a range of the list belongs to; parallel to the list. */
struct range_owner {
	struct process_image program;
	uint32_t tid;
};

/* A time in which the agent dropped begins and ends of ranges, because its queue was full. */
struct range_loss {
	uint64_t from_ns, to_ns;
	uint32_t epoch;
};

/* What pass 1 learns of the ranges of a thread of a program. */
struct range_thread {
	struct range_owner owner;
	uint64_t begins;  /* in the recording; those that are left out, too */
	uint64_t last_ns; /* when what was never ended is over */
	uint32_t thread;
};

/* Of either of two readings. */
struct range_readings {
	const struct model *model;	    /* Pass 1: where the start of the recording is */
	const struct ranges *first;	    /* a second: the first */
	struct lookup by_owner;		    /* (epoch, tid) to threads */
	struct range_owner latest;	    /* the latest that was looked for there, and its thread */
	uint32_t latest_thread;		    /* NONE: none was found yet */
	ARRAY(struct range_thread) threads; /* in order of their first begins */
	ARRAY(uint64_t) begins;		    /* by model.threads: as of struct range_thread */
	size_t ids_ended;
};

struct ranges {
	struct process_table *processes;
	struct string_pool *strings;
	struct spans spans;
	ARRAY(struct range_owner) owners; /* parallel to it */
	ARRAY(uint64_t) latest;		  /* by track: its latest time, as a thread's times only go on */
	ARRAY(uint64_t) execs;		  /* when an epoch ended */
	struct lookup by_thread;	  /* (epoch, tid and domain) to track */
	struct lookup by_id;		  /* (epoch, id) to what spans_add says, NONE: it has ended */
	struct lookup tids;	   /* (epoch, tid in the process's pid namespace) to thread, where the two differ */
	struct lookup epoch_execs; /* (epoch, 0) to execs */
	ARRAY(struct range_loss) losses;
	uint64_t lost;
	struct range_readings readings;
};

void ranges_init(struct ranges *ranges, struct process_table *processes, struct string_pool *strings, uint64_t seed);
void ranges_free(struct ranges *ranges); /* all but the list, which is the model's */

/* Begins and ends.  False when they do not make sense: a time that runs backwards; it counts as the latest one. */
bool ranges_mark(struct ranges *ranges, struct process_image program, const struct new_range *range);
bool ranges_push(struct ranges *ranges, struct process_image program, const struct new_range *range);
bool ranges_pop(struct ranges *ranges, struct process_image program, const struct new_range *range);
bool ranges_start(struct ranges *ranges, struct process_image program, const struct new_range *range);
bool ranges_end(struct ranges *ranges, struct process_image program, const struct new_range *range);
bool ranges_add(struct ranges *ranges, struct process_image program, const struct new_range *range); /* both at once */

/* Some of these had no room in a interval. */
void ranges_lose(struct ranges *ranges, struct process_image program, uint64_t count, uint64_t from_ns, uint64_t to_ns);

/* The process calls this thread by another number. */
void ranges_collect_tid(struct ranges *ranges, uint32_t epoch, uint32_t tid, uint32_t thread);

/* Another program: what is open is over. */
void ranges_process_execs(struct ranges *ranges, uint32_t pid, uint64_t time_ns);

/* After the last record: ends what is open, finds the threads, orders the list by thread and begin. */
void ranges_finish(struct ranges *ranges, uint64_t start_ns, uint64_t end_ns);

/* ---- two readings (spans.h) -------------------------------------------------------------------------------------- */

/* The first, into whose model the start of the recording is written; before the first range.  ranges_finish ends it. */
void ranges_collect(struct ranges *ranges, const struct model *model);

/* The second; before the first range.  The other stays as it is until this one is freed. */
void ranges_read_again(struct ranges *ranges, const struct ranges *first);

/* The part (spans_take_part), by thread, begin, and those around others first. */
void ranges_take_part(struct ranges *ranges, uint64_t until_ns, bool last, size_t threads);

/* How many the whole source has of a thread, or more: not all of them may be in a part. */
uint64_t ranges_of_thread(const struct ranges *ranges, uint32_t thread);

/* For nvtx_ranges.c. */
void ranges_collect_begin(struct ranges *ranges, const struct range_owner *owner, const struct model_span *span);
void ranges_finish_collecting(struct ranges *ranges, uint64_t end_ns);
void ranges_know_begin(struct ranges *ranges, const struct range_owner *owner, struct model_span *span);
void ranges_free_readings(struct ranges *ranges);
const struct range_loss *ranges_loss_after(const struct ranges *ranges, uint32_t epoch, uint64_t start_ns);
uint64_t ranges_last_moment(const struct ranges *ranges, const struct range_owner *owner, uint64_t end_ns);
uint32_t ranges_thread_of(struct ranges *ranges, const struct range_owner *owner);

#endif
