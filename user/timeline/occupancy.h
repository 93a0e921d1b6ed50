/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How full a kernel makes a GPU: an estimate from its launch and the limits of the device. */
#ifndef GPUTRACE_TIMELINE_OCCUPANCY_H
#define GPUTRACE_TIMELINE_OCCUPANCY_H

#include <stdint.h>

#include "model/model.h"

/* 0 where the limits of the device, or the numbers of the kernel that it takes, are not known. */
struct occupancy {
	double blocks_per_sm, warps_per_sm;
	uint32_t percent; /* of the threads that a multiprocessor can hold */
};

struct occupancy occupancy_of(const struct model *model, const struct model_gpu *kernel);

#endif
