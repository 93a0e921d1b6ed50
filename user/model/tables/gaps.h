/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When another user of CUPTI in a process had the GPU's records, so that they did not come to the agent
 * (struct model_gap): found by who registers buffers when.  What fell into them is counted in gap_launches.h.
 */
#ifndef GPUTRACE_GAPS_H
#define GPUTRACE_GAPS_H

#include "base/array.h"
#include "model/model.h"
#include "model/tables/process_table.h"

struct gaps {
	struct process_table *processes;
	ARRAY(struct model_gap) list;
	ARRAY(uint32_t) latest;		   /* by process: index into list, NONE */
	ARRAY(uint64_t) first_register_ns; /* by process: when the first registered, 0: no one yet */
};

void gaps_init(struct gaps *gaps, struct process_table *processes);
void gaps_free(struct gaps *gaps); /* all but the list, which is the model's */

/* Someone registers buffers for the GPU's records: own: the agent, else another user of CUPTI. */
void gaps_add_registration(struct gaps *gaps, uint32_t pid, uint64_t time_ns, bool own);

/* The process becomes another program: whatever was going on in it is over. */
void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns);

/* After the last record: adds what is known of agents, and puts the list in order. */
void gaps_finish(struct gaps *gaps);

#endif
