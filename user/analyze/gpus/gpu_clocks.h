/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What slow clocks cost: kernels of one name, grid, block, shared memory and GPU that ran at the highest clock and at a
 * low one.  A kernel counts only if all samples from the last one before it to the first one after it agree.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/tally.h"

enum clock_pace {
	CLOCK_NOT_KNOWN, /* also at rest */
	CLOCK_FULL,
	CLOCK_SLOW,
};

/* A GPU with nothing to do lowers its clocks: that is no loss. */
static inline enum clock_pace clock_pace_of(const struct model_gpu_sample *sample)
{
	if (sample->sm_mhz == MODEL_NOT_SAID || sample->sm_max_mhz == MODEL_NOT_SAID ||
	    (sample->reasons != MODEL_NOT_SAID_64 && sample->reasons & GPT_CLOCK_IDLE))
		return CLOCK_NOT_KNOWN;
	return gpu_clock_is_low(sample) ? CLOCK_SLOW : CLOCK_FULL;
}

/* A kernel whose next sample has not come yet. */
struct clock_kernel {
	uint64_t end_ns, ns;
	uint32_t shape;
};

struct clock_device {
	uint64_t sample_ns; /* of the latest sample; 0: none yet */
	enum clock_pace pace;
	ARRAY(struct clock_kernel) waiting; /* that began since then, or run on */
	uint64_t slow_ns, slow_kernels;	    /* when finished: of kernels that ran at both */
	double cost_ns;			    /* when finished: how much longer than at the highest clock */
};

struct gpu_clocks {
	struct tally device_index; /* model_device.id; numbered like devices */
	ARRAY(struct clock_device) devices;
	struct tally names, grids, shapes; /* a kernel's name, device and shared memory; its grid; its block */
	struct tally durations;		   /* shape, pace, class of the duration */
	ARRAY(uint32_t) shape_devices;	   /* by shape: index of the device */
};

void gpu_clocks_free(struct gpu_clocks *clocks);
void gpu_clocks_add_sample(struct gpu_clocks *clocks, const struct model_gpu_sample *sample);
void gpu_clocks_add_kernel(struct gpu_clocks *clocks, const struct model_gpu *kernel);
void gpu_clocks_finish(struct gpu_clocks *clocks);

/* Once finished; NULL: no kernel of that GPU ran at both. */
const struct clock_device *gpu_clocks_of(const struct gpu_clocks *clocks, uint32_t device);
