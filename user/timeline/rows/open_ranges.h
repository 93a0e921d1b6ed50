/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges across parts of a trace: a range that is open at the end of a part occurs again in the next one.  It
 * keeps its row and its number; ranges are numbered in order of appearance.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "model/model.h"

struct open_range {
	uint64_t key; /* model_span.number */
	uint64_t number;
	uint32_t thread;
	uint32_t row;	/* ROW_NONE: not in the timeline */
	bool takes_row; /* until it ends */
};

/* Open ranges of the previous part and of this one, both in the model's order.  Starts zeroed. */
struct open_ranges {
	ARRAY(struct open_range) before;
	ARRAY(struct open_range) now;
	size_t next; /* index in `before` */
};

/* The entry kept for a range, NULL: it is new.  Must be called for ranges in the model's order. */
const struct open_range *open_ranges_find(struct open_ranges *open, const struct model_span *range);

/* What is in `now` is kept for the next part. */
void open_ranges_next_part(struct open_ranges *open);
void open_ranges_free(struct open_ranges *open);
