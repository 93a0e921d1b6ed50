/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls as CUPTI recorded them (GPT_AGENT_CALLED), where no API callback gave their correlation ids: which of the calls
 * that symbol probes saw each of them is.  Knows nothing of who read the records.
 *
 * The calls of a thread follow one another, in both accounts, so the n-th is the n-th; but either may have lost some,
 * and begins and ends at another time.  So it is the times that decide, and where they leave a choice the record
 * stays without its call: its GPU work then has no line rather than a wrong one.
 */
#ifndef GPUTRACE_CALLED_H
#define GPUTRACE_CALLED_H

#include "model/calls.h"
#include "model/process_table.h"

struct called {
	uint64_t start_ns, end_ns; /* wall clock as they come; CLOCK_MONOTONIC for called_join */
	uint64_t error_ns;	   /* what its times are good to on CLOCK_MONOTONIC; for called_join */
	uint32_t process, space;
	uint32_t key; /* of the thread: gpt_agent_called.thread */
	uint32_t corr;
	int32_t result;
	uint16_t api;
	bool by_pointer; /* key is one of pthread_self(); set by called_join */
};

/* What was recorded in one process while calls were to be seen. */
struct called_range {
	uint32_t first, last; /* correlation ids */
	uint64_t end_ns;      /* of the last call */
	bool any;
};

struct called_table {
	struct process_table *processes;
	struct calls *calls;
	ARRAY(struct called) list;
	ARRAY(struct called_range) ranges; /* by process */
};

struct called_terms {
	uint64_t until_ns; /* calls were to be seen */
	bool calls_lost;   /* some that symbol probes saw had no room */
};

void called_init(struct called_table *table, struct process_table *processes, struct calls *calls);
void called_free(struct called_table *table);

/* False when it does not make sense. */
bool called_add(struct called_table *table, uint32_t process, uint32_t space, const struct gpt_agent_called *record);

/*
 * After the last record, with all times on CLOCK_MONOTONIC: gives calls their correlation id, end and result.
 * Launches while the process captures a graph are taken for captured: wrongly where they have GPU work after all.
 */
void called_join(struct called_table *table, const struct called_terms *terms);

/*
 * Whether work with a correlation id that no call has was asked for before or after the time in which calls of this
 * process were to be seen.  False where nothing was recorded.
 */
bool called_is_outside(const struct called_table *table, uint32_t process, uint32_t corr);

#endif
