/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges over the parts of a trace: one that is open when a part ends comes again in the next.  It keeps its lane
 * and its number, which is its place among the ranges of the whole trace, by thread and start.
 */
#ifndef GPUTRACE_TIMELINE_OPEN_RANGES_H
#define GPUTRACE_TIMELINE_OPEN_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "model/model.h"

struct open_range {
	uint64_t key; /* model_span.number */
	uint64_t number;
	uint32_t thread;
	uint32_t lane;	 /* LANE_NONE: it is not in the timeline */
	bool takes_lane; /* until it ends */
};

/* Those of the part before, and of this one; both in the model's order.  Starts zeroed. */
struct open_ranges {
	ARRAY(struct open_range) before;
	ARRAY(struct open_range) now;
	size_t next; /* of `before` */
};

/* What was kept of a range; ranges come in the model's order.  NULL: it is new. */
const struct open_range *open_ranges_find(struct open_ranges *open, const struct model_span *range);

/* Keeps it for the next part. */
void open_ranges_keep(struct open_ranges *open, const struct open_range *range);

void open_ranges_next_part(struct open_ranges *open);
void open_ranges_clear(struct open_ranges *open);
void open_ranges_free(struct open_ranges *open);

/* Numbers of ranges, thread after thread, although they come part after part: counted once, then given. */
struct range_numbers {
	uint64_t *next; /* by thread: how many there were, then the next one's number */
	uint32_t threads;
	uint64_t *here; /* of those in the part at hand, by index in the model */
	size_t room;
};

void range_numbers_begin(struct range_numbers *numbers, uint32_t threads);
void range_numbers_give(struct range_numbers *numbers); /* all are counted */
void range_numbers_free(struct range_numbers *numbers);

#endif
