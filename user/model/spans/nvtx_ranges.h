/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges: starts and ends as the agents reported them, paired.  Pushes and pops pair on their thread and domain,
 * starts and ends by id.  All input is written by targets: hostile.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "model/tables/process_table.h"
#include "model/spans/spans.h"

/* The process image and thread of a range in the list; parallel to the list. */
struct range_owner {
	struct process_image program;
	uint32_t tid;
};

/* An interval in which the agent dropped starts and ends of ranges, because its queue was full. */
struct range_loss {
	uint64_t from_ns, to_ns;
	uint32_t epoch;
};

/* What pass 1 collects about the ranges of a thread of a process image. */
struct range_thread {
	struct range_owner owner;
	uint64_t begins;  /* starts in the recording, including ranges that are left out */
	uint64_t before;  /* starts before it of ranges that had not ended when it began */
	uint64_t last_ns; /* end time of ranges that never ended */
	uint32_t thread;
};

/* State of pass 1 or pass 2. */
struct range_passes {
	const struct model *model;	    /* pass 1: has the start of the recording */
	const struct ranges *first;	    /* pass 2: the ranges of pass 1 */
	struct lookup by_owner;		    /* (epoch, tid) to threads */
	struct range_owner latest;	    /* the owner looked up last, and its thread */
	uint32_t latest_thread;		    /* NONE: none found yet */
	ARRAY(struct range_thread) threads; /* in order of their first starts */
	ARRAY(uint64_t) begins;		    /* by model.threads: as in struct range_thread */
	ARRAY(uint32_t) starters;	    /* pass 1: by the result of spans_add: index in threads; NONE */
	size_t ids_ended;
};

struct ranges {
	struct process_table *processes;
	struct string_pool *strings;
	struct spans spans;
	ARRAY(struct range_owner) owners; /* parallel to it */
	ARRAY(uint64_t) latest;		  /* by track: its latest time, as a thread's times never decrease */
	ARRAY(uint64_t) execs;		  /* when an epoch ended */
	struct lookup by_thread;	  /* (epoch, tid and domain) to track */
	struct lookup by_id;		  /* (epoch, id) to the result of spans_add, NONE: ended */
	struct lookup tids;	   /* (epoch, tid in the process's pid namespace) to thread, where the two differ */
	struct lookup epoch_execs; /* (epoch, 0) to execs */
	ARRAY(struct range_loss) losses;
	uint64_t lost;
	struct range_passes passes;
};

void ranges_free(struct ranges *ranges); /* all but the list, which is the model's */

/* False: it makes no sense, e.g. time goes backwards; the latest time is then used instead. */
bool ranges_add(struct ranges *ranges, struct process_image program, const struct new_range *range);

/* Some starts and ends in that interval were lost, for lack of room. */
void ranges_lose(struct ranges *ranges, struct process_image program, uint64_t count, uint64_t from_ns, uint64_t to_ns);

/* The process knows this thread by a different number, its own tid. */
void ranges_collect_tid(struct ranges *ranges, uint32_t epoch, uint32_t tid, uint32_t thread);

/* The process execs: open ranges end. */
void ranges_process_execs(struct ranges *ranges, uint32_t pid, uint64_t time_ns);

/* After the last record: ends open ranges, finds the threads, sorts the list by thread and start. */
void ranges_finish(struct ranges *ranges, uint64_t start_ns, uint64_t end_ns);

/* ---- two passes (spans.h) ---------------------------------------------------------------------------------------- */

/*
 * Starts pass 1, before the first range; the start of the recording will be written into the model.  ranges_finish ends
 * it.
 */
void ranges_collect(struct ranges *ranges, const struct model *model);

/* Starts pass 2, before the first range.  `first` must stay unchanged until this one is freed. */
void ranges_read_again(struct ranges *ranges, const struct ranges *first);

/* Takes the part (spans_take_part), sorted by thread and start, enclosing ranges first. */
void ranges_take_part(struct ranges *ranges, uint64_t until_ns, bool last, size_t threads);

/* An upper bound on a thread's ranges in the whole source: some may be in no part. */
uint64_t ranges_of_thread(const struct ranges *ranges, uint32_t thread);

/* For nvtx_ranges.c. */
void ranges_collect_start(struct ranges *ranges, uint32_t added);
void ranges_collect_pop(struct ranges *ranges, const struct range_owner *owner, uint32_t track, uint64_t time_ns);
void ranges_collect_end(struct ranges *ranges, uint32_t added, uint64_t time_ns);
void ranges_collect_begin(struct ranges *ranges, const struct range_owner *owner, const struct model_span *span);
void ranges_finish_collecting(struct ranges *ranges, uint64_t end_ns);
void ranges_know_begin(struct ranges *ranges, const struct range_owner *owner, struct model_span *span);
void ranges_cut_before(struct model_span *range, uint64_t start_ns);
void ranges_free_readings(struct ranges *ranges);
const struct range_loss *ranges_loss_after(const struct ranges *ranges, uint32_t epoch, uint64_t start_ns);
uint64_t ranges_last_moment(const struct ranges *ranges, const struct range_owner *owner, uint64_t end_ns);
uint32_t ranges_thread_of(struct ranges *ranges, const struct range_owner *owner);
