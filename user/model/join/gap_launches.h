/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which launches fell into times when another user of CUPTI had the GPU's records (struct model_gap), and so why their
 * GPU work is missing.  Calls come in order of time; a launch shortly after a gap belongs to it if the agent
 * recorded nothing until later, so it waits for the first launch that was recorded.
 */
#ifndef GPUTRACE_GAP_LAUNCHES_H
#define GPUTRACE_GAP_LAUNCHES_H

#include "base/array.h"
#include "model/model.h"

/* Calls of a gap: those whose GPU work came from the other's buffers, and launches without GPU work. */
struct gap_calls {
	uint32_t foreign, missed;
	uint64_t first_missed_ns; /* start of the first of these */
};

struct gap_sums {
	struct gap_calls in; /* it */
	/* after its end: those at the latest time, and those before that */
	struct gap_calls latest, waiting;
	uint64_t latest_ns;
	bool recorded; /* a launch after it has GPU times */
};

/* One for each gap of a model.  Zeroed: none yet. */
struct gap_launches {
	ARRAY(struct gap_sums) sums;
};

/* The next call in order of time, and what became of it as a launch. */
void gap_launches_add(struct gap_launches *launches, const struct model *part, const struct model_call *call,
		      enum launch_fate fate);

/* Of a slice of a trace: what of its gaps is counted; all zero: everything. */
struct gap_limits {
	uint64_t from_ns, to_ns; /* to_ns 0: no end */
	const bool *processes;	 /* by model.processes, NULL: all */
};

/* After the last call: adds the gaps to the receipt, in which all launches are counted, and the launches explained. */
void gap_launches_count(const struct gap_launches *launches, const struct gap_limits *limits, const struct model *last,
			struct model_receipt *receipt);
void gap_launches_free(struct gap_launches *launches);

#endif
