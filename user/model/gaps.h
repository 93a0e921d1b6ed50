/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When another user of CUPTI in a process had the GPU's records, so that they did not come to the agent, and which of
 * them did not come by way of that one's buffers either.
 */
#ifndef GPUTRACE_GAPS_H
#define GPUTRACE_GAPS_H

#include "base/array.h"
#include "model/model.h"
#include "model/process_table.h"

struct gap {
	uint64_t start_ns, end_ns; /* end_ns 0: the other still had them when the process or the trace ended */
	uint64_t recorded_ns;	   /* start of the first launch behind it that has GPU times, 0: none */
	uint32_t process;
	bool aside; /* the agent came and kept aside: whether another had them, its buffers tell */

	/* of the calls that fell into it */
	uint32_t foreign;	  /* whose GPU work came from the other's buffers */
	uint32_t missed;	  /* launches without GPU work */
	uint64_t first_missed_ns; /* start of the first of these */
};

struct gaps {
	struct process_table *processes;
	ARRAY(struct gap) list;
	ARRAY(uint32_t) latest;		   /* by process: index into list, NONE */
	ARRAY(uint64_t) first_register_ns; /* by process: whoever was the first to register, 0: nobody yet */
};

void gaps_init(struct gaps *gaps, struct process_table *processes);
void gaps_free(struct gaps *gaps);

/* Somebody registers buffers for the GPU's records: own: the agent, else another user of CUPTI. */
void gaps_add_registration(struct gaps *gaps, uint32_t pid, uint64_t time_ns, bool own);

/* The process becomes another program: whatever was going on in it is over. */
void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns);

/* After the last record, with the finished model and its launches counted: counts them and the launches that they
 * explain. */
void gaps_count(struct gaps *gaps, struct model *model);

#endif
