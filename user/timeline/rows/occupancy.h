/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How full a kernel makes a GPU: an estimate from its launch and the limits of the device. */
#pragma once

#include <stdint.h>

#include "model/model.h"

/* All 0 if the device's limits or the kernel's numbers that this needs are not known. */
struct occupancy {
	double blocks_per_sm, warps_per_sm;
	uint32_t percent; /* of the threads that a multiprocessor can hold */
};

struct occupancy occupancy_of(const struct model *model, const struct model_gpu *kernel);
