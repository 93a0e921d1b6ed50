/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gaps, in which another CUPTI client of a process had the activity records, so that the agent did not get them (struct
 * model_gap).  They follow from which client registers buffers when.  gap_launches.h counts the launches in gaps.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"
#include "model/tables/process_table.h"

struct gaps {
	struct process_table *processes;
	ARRAY(struct model_gap) list;
	ARRAY(uint32_t) latest;		   /* by process: index into list, NONE */
	ARRAY(uint64_t) first_register_ns; /* by process: time of the first registration, 0: none yet */
};

void gaps_free(struct gaps *gaps); /* all but the list, which is the model's */

/* A CUPTI client registers buffers for activity records; own: it is the agent, else another client. */
void gaps_add_registration(struct gaps *gaps, uint32_t pid, uint64_t time_ns, bool own);

/* The process execs: its open gap ends. */
void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns);

/* After the last record: adds what is known about agents, and sorts the list. */
void gaps_finish(struct gaps *gaps);
