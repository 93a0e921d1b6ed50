/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls as CUPTI recorded them (GPT_AGENT_API_ACTIVITY), where no API callback gave their correlation ids: which of the
 * calls that symbol probes saw each of them is.  Knows nothing of who read the records.
 *
 * The calls of a thread follow one another, in both, so the n-th is the n-th; but either may have lost some,
 * and begins and ends at another time.  So it is the times that decide, and where they leave a choice the record
 * stays without its call: its GPU work then has no line rather than a wrong one.
 */
#ifndef GPUTRACE_API_ACTIVITY_H
#define GPUTRACE_API_ACTIVITY_H

#include "model/calls.h"
#include "model/process_table.h"

struct api_activity {
	uint64_t start_ns, end_ns; /* wall clock as they come; CLOCK_MONOTONIC for api_activities_join */
	uint64_t error_ns;	   /* what its times are good to on CLOCK_MONOTONIC; for api_activities_join */
	uint32_t process, space;
	uint32_t key; /* of the thread: gpt_agent_api_activity.thread */
	uint32_t corr;
	int32_t result;
	uint16_t api;
	bool by_pointer; /* key is one of pthread_self(); set by api_activities_join */
};

/* What was recorded in one process while calls were to be seen. */
struct api_activity_range {
	uint32_t first, last; /* correlation ids */
	uint64_t end_ns;      /* of the last call */
	bool any;
};

struct api_activities {
	struct process_table *processes;
	struct calls *calls;
	ARRAY(struct api_activity) list;
	ARRAY(struct api_activity_range) ranges; /* by process */
};

struct api_activity_terms {
	uint64_t until_ns; /* calls were to be seen */
	bool calls_lost;   /* some that symbol probes saw had no room */
};

void api_activities_init(struct api_activities *table, struct process_table *processes, struct calls *calls);
void api_activities_free(struct api_activities *table);

/* False when it does not make sense. */
bool api_activities_add(struct api_activities *table, uint32_t process, uint32_t space,
			const struct gpt_agent_api_activity *record);

/*
 * After the last record, with all times on CLOCK_MONOTONIC: gives calls their correlation id, end and result.
 * Launches while the process captures a graph are taken for captured: wrongly where they have GPU work after all.
 */
void api_activities_join(struct api_activities *table, const struct api_activity_terms *terms);

/*
 * Whether work with a correlation id that no call has was asked for before or after the time in which calls of this
 * process were to be seen.  False where nothing was recorded.
 */
bool api_activity_is_outside(const struct api_activities *table, uint32_t process, uint32_t corr);

#endif
