/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a rank did step by step: its steps, and its sums by line.  It outlives the log. */
#pragma once

#include "analyze/steps/per_step_tables.h"

struct rank_work {
	uint32_t process, device; /* as in arriving_rank */
	struct {
		ARRAY(struct step) list; /* seen from start to end, on the log's own clock */
	} steps;
	struct per_step_tables tables;
	bool has_tables; /* false: nothing tells what this rank did from what others did */
};

/*
 * all: with PER_STEP and WHY; steps: of its trace, NULL: none were looked for.  device: as in arriving_rank; of a GPU
 * only computation is known.  is_alone: no rank of the log is another process, so that without steps all that the log
 * has is this one's.
 */
void rank_work_make(struct rank_work *work, struct analyses *all, const struct steps *steps, uint32_t process,
		    uint32_t device, bool is_alone);
void rank_work_free(struct rank_work *work);
