/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls as CUPTI recorded them, where no API callback gave their correlation ids: which of the
 * calls that symbol probes saw each of them is.  Knows nothing of who read the records.
 *
 * The calls of a thread follow one another, in both, so the n-th is the n-th; but either may have lost some,
 * and begins and ends at another time.  So it is the times that decide, and where they leave a choice the record
 * stays without its call: its GPU work then has no line rather than a wrong one.
 */
#ifndef GPUTRACE_API_ACTIVITY_H
#define GPUTRACE_API_ACTIVITY_H

#include "model/tables/calls.h"
#include "model/events.h"
#include "model/tables/process_table.h"

/* One as it came. */
struct pending_api_activity {
	struct process_image program;
	struct new_api_activity activity;
};

/* The same on CLOCK_MONOTONIC. */
struct api_activity {
	uint64_t start_ns, end_ns;
	uint32_t process, epoch;
	uint32_t key; /* of the thread: new_api_activity.thread */
	uint32_t corr;
	int32_t result;
	uint16_t api;
	bool by_pointer; /* key is one of pthread_self() */
};

/* What was recorded in one process while calls were to be seen. */
struct api_activity_range {
	uint32_t first, last; /* correlation ids */
	uint64_t end_ns;      /* of the last call */
	bool any;
};

/* Where a thread's records stand between two parts of a trace. */
struct api_activity_thread {
	uint64_t end_ns;     /* of the last record, 0: none */
	uint64_t capture_ns; /* since when it captures a graph, 0: it does not */
};

struct api_activities {
	struct process_table *processes;
	struct calls *calls;
	ARRAY(struct pending_api_activity) pending;
	ARRAY(struct api_activity) list;	 /* of those with a place in the recording */
	ARRAY(struct api_activity_range) ranges; /* by process */
	struct lookup threads;			 /* (process and way to name threads, key) to index in thread_states */
	ARRAY(struct api_activity_thread) thread_states;
};

struct api_activity_terms {
	uint64_t until_ns; /* calls were to be seen */
	uint64_t part_ns;  /* those that begin before this are joined, and their calls are in the list */
	uint64_t error_ns; /* what times of the list are good to */
	bool calls_lost;   /* some that symbol probes saw had no room */
};

void api_activities_init(struct api_activities *table, struct process_table *processes, struct calls *calls,
			 uint64_t seed);
void api_activities_free(struct api_activities *table);

static inline bool api_activity_makes_sense(const struct new_api_activity *activity)
{
	return activity->corr && activity->span.start_ns && activity->span.end_ns >= activity->span.start_ns;
}

/* One that makes sense. */
void api_activities_add(struct api_activities *table, struct process_image program,
			const struct new_api_activity *activity);

/* After the last one: puts one that came into the list, by its times on CLOCK_MONOTONIC. */
void api_activities_place(struct api_activities *table, const struct pending_api_activity *pending, uint64_t start_ns,
			  uint64_t end_ns);

/* One of a process in the time in which calls were to be seen. */
void api_activities_note_range(struct api_activities *table, uint32_t process, uint32_t corr, uint64_t end_ns);

/*
 * Then, with all of them in the list, or all of a part (the others stay): gives calls their correlation id, end and
 * result. Launches while the process captures a graph are taken for captured: wrongly where they have GPU work after
 * all.
 */
void api_activities_join(struct api_activities *table, const struct api_activity_terms *terms);

/*
 * Whether work with a correlation id that no call has was asked for before or after the time in which calls of this
 * process were to be seen.  False where nothing was recorded.
 */
bool api_activity_is_outside(const struct api_activities *table, uint32_t process, uint32_t corr);

#endif
