/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matches CUPTI's API activity records to the calls that symbol probes saw, where no API callback reported the
 * correlation ids.  Independent of which client read the records.
 *
 * Both list a thread's calls in order, so ideally the n-th record is the n-th call.  But either may have lost some, and
 * they start and end at different times.  So times decide, and an ambiguous record remains without a call: its GPU work
 * then has no line rather than a wrong one.
 */
#pragma once

#include "model/tables/calls.h"
#include "model/events.h"
#include "model/tables/process_table.h"

/* A record as it arrived. */
struct pending_api_activity {
	struct process_image program;
	enum source_clock clock;
	struct gpt_agent_api_activity record;
};

/* The same on CLOCK_MONOTONIC. */
struct api_activity {
	uint64_t start_ns, end_ns;
	uint32_t process, epoch;
	uint32_t key; /* of the thread: gpt_agent_api_activity.thread */
	uint32_t corr;
	int32_t result;
	uint16_t api;
	bool by_pointer; /* key is from pthread_self() */
};

/* The range of records of one process in the time in which its calls could be seen. */
struct api_activity_range {
	uint32_t first, last; /* correlation ids */
	uint64_t end_ns;      /* of the last call */
	bool any;
};

/* State of a thread's records between two parts of a trace. */
struct api_activity_thread {
	uint64_t end_ns;     /* of the last record, 0: none */
	uint64_t capture_ns; /* since when it has been capturing a graph, 0: it is not */
};

struct api_activities {
	struct process_table *processes;
	struct calls *calls;
	ARRAY(struct pending_api_activity) pending;
	ARRAY(struct api_activity) list;	 /* those within the recording */
	ARRAY(struct api_activity_range) ranges; /* by process */
	struct lookup threads;			 /* (process and kind of key, key) to index in thread_states */
	ARRAY(struct api_activity_thread) thread_states;
};

struct api_activity_terms {
	uint64_t until_ns; /* calls could be seen until then */
	uint64_t part_ns;  /* records that start before this are joined; their calls are in the list */
	uint64_t error_ns; /* error bound of the list's times */
	bool calls_lost;   /* some calls seen by symbol probes were lost for lack of room */
};

void api_activities_free(struct api_activities *table);

static inline bool api_activity_makes_sense(const struct gpt_agent_api_activity *activity)
{
	return activity->corr && activity->start_wall_ns && activity->end_wall_ns >= activity->start_wall_ns;
}

/* After the last record: puts a pending one into the list, with its times on CLOCK_MONOTONIC. */
void api_activities_place(struct api_activities *table, const struct pending_api_activity *pending, uint64_t start_ns,
			  uint64_t end_ns);

/* Notes a record of a process from the time in which calls could be seen. */
void api_activities_note_range(struct api_activities *table, uint32_t process, uint32_t corr, uint64_t end_ns);

/*
 * Then, with all records of the trace or of a part in the list (later ones stay): gives calls their correlation id, end
 * and result.  Launches made while the process captures a graph are taken as captured, which is wrong for those that
 * turn out to have GPU work.
 */
void api_activities_join(struct api_activities *table, const struct api_activity_terms *terms);

/* Whether any record of the process is from that time; known once all of pass 1's or of the only pass are placed. */
bool api_activities_any(const struct api_activities *table, uint32_t process);

/*
 * Whether work whose correlation id belongs to no call was requested before or after the time in which calls of this
 * process could be seen.  False if nothing was recorded.
 */
bool api_activity_is_outside(const struct api_activities *table, uint32_t process, uint32_t corr);
