/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time of collectives of torch.distributed, by their parameters, and the line that launches most. */
#pragma once

#include "analyze/sums/group.h"

struct collective_sums {
	const struct model *model;
	/*
	 * The number of a row: model.strings, see collective_read(); collectives whose ranks or splits of the elements
	 * differ share one.
	 */
	struct group group;
};

void collective_sums_add_gpu(struct collective_sums *sums, const struct gpu_event *event);
void collective_sums_finish(struct collective_sums *sums, struct lines *lines);
