/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which launches lie in gaps, when another CUPTI client had the activity records (struct model_gap), which explains
 * their missing GPU work.  Calls come in order of time.  A launch shortly after a gap still belongs to it if the agent
 * recorded nothing until later, so it is held until the first recorded launch.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"

/* Calls of a gap: those whose GPU work came from the other client's buffers, and launches without GPU work. */
struct gap_calls {
	uint32_t foreign, missed;
	uint64_t first_missed_ns; /* start of the first missed launch */
};

struct gap_sums {
	struct gap_calls in; /* in the gap */
	/* after its end: calls at the latest time, and calls before that */
	struct gap_calls latest, waiting;
	uint64_t latest_ns;
	bool recorded; /* a launch after it has GPU times */
};

/* One entry for each gap of a model.  Zeroed: none yet. */
struct gap_launches {
	ARRAY(struct gap_sums) sums;
};

/* The next call in order of time, and what became of it as a launch. */
void gap_launches_add(struct gap_launches *launches, const struct model *part, const struct model_call *call,
		      enum launch_fate fate);

/* Limits the gaps counted to a slice of a trace; all zero: count all. */
struct gap_limits {
	uint64_t from_ns, to_ns; /* to_ns 0: no end */
	const bool *processes;	 /* by model.processes, NULL: all */
};

/*
 * After the last call: adds the gaps and the launches that they explain to the receipt, in which all launches are
 * counted.
 */
void gap_launches_count(const struct gap_launches *launches, const struct gap_limits *limits, const struct model *last,
			struct model_receipt *receipt);
