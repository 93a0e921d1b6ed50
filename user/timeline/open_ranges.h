/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges over the parts of a trace: one that is open when a part ends comes again in the next.  It keeps its row
 * and its number, which counts ranges as they are met.
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
	uint32_t row;	/* ROW_NONE: it is not in the timeline */
	bool takes_row; /* until it ends */
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
void open_ranges_free(struct open_ranges *open);

#endif
