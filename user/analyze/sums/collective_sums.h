/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time of collectives of torch.distributed, by their parameters, and the line that launches most. */
#ifndef GPUTRACE_ANALYZE_COLLECTIVE_SUMS_H
#define GPUTRACE_ANALYZE_COLLECTIVE_SUMS_H

#include "analyze/events.h"
#include "analyze/lines.h"

struct collective_row {
	uint32_t params; /* model.strings: see collective_read(); ranks, and splits of the elements, share a row */
	uint32_t line;	 /* with most of its time */
	uint64_t ns, count;
};

struct collective_sums {
	const struct model *model;
	struct tally callers;	     /* params, caller */
	struct collective_row *rows; /* most time first */
	size_t count;
};

void collective_sums_free(struct collective_sums *sums);
void collective_sums_add_gpu(struct collective_sums *sums, const struct gpu_event *event);
void collective_sums_finish(struct collective_sums *sums, struct lines *lines);

#endif
