/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How busy each GPU was: the union of its operations over the recording. */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/tally.h"

struct utilization_row {
	uint32_t device;     /* model_device.id */
	uint64_t busy_ns;    /* covered by any operation */
	uint64_t outside_ns; /* covered outside of the recording */
	uint64_t kernel_ns;  /* covered by kernels; the rest of busy_ns is only memcpys and memsets */
	uint64_t launches;   /* of kernels and graphs, that were seen and have GPU work */
	uint64_t unseen;     /* kernels, and graphs, whose launch was not seen */
	uint32_t graph_corr; /* of the latest of these graphs */
	uint64_t first_ns;   /* start of the first operation in the recording */
	uint64_t busy_until_ns, kernel_until_ns; /* covered up to here */
	uint64_t until_ns;			 /* the same, outside of the recording, too */
};

struct utilization {
	const struct window *window;
	struct tally devices;		    /* device; numbered like rows until those are sorted */
	ARRAY(struct utilization_row) rows; /* by device */
};

void utilization_init(struct utilization *all, const struct window *window);
void utilization_free(struct utilization *all);
void utilization_add_gpu(struct utilization *all, const struct gpu_event *event);
/* One that works before or after the window. */
void utilization_add_device(struct utilization *all, uint32_t device);
/* Of one that began before the slice: only the time in the slice; it is another slice that counts the rest. */
void utilization_add_crossing(struct utilization *all, const struct model_gpu *op);
void utilization_finish(struct utilization *all);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_UTILIZATION(X)                                                                                        \
	X(UTILIZATION, begin, utilization_init(&all->utilization, &all->window))                                       \
	X(UTILIZATION, crossing, utilization_add_crossing(&all->utilization, event->gpu.op))                           \
	X(UTILIZATION, gpu, utilization_add_gpu(&all->utilization, event))                                             \
	X(UTILIZATION, finish, utilization_finish(&all->utilization))                                                  \
	X(UTILIZATION, free, utilization_free(&all->utilization))
