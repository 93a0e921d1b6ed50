/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel, and the line that launches most of each. */
#ifndef GPUTRACE_ANALYZE_KERNELS_H
#define GPUTRACE_ANALYZE_KERNELS_H

#include "analyze/events.h"
#include "analyze/sums/gpu_tally.h"
#include "analyze/lines.h"

struct kernel_row {
	uint32_t name; /* model.strings, including the place of its function; NONE: not known */
	uint32_t line; /* with most of its time; of equal lines the first that launched it */
	uint64_t ns, count;
};

struct kernels {
	struct gpu_tally callers; /* name, caller */
	uint64_t gpu_ns;	  /* of all operations; shares are shares of it */
	struct kernel_row *rows;  /* most time first */
	size_t count;
};

void kernels_free(struct kernels *kernels);
void kernels_add_gpu(struct kernels *kernels, const struct gpu_event *event);
void kernels_finish(struct kernels *kernels, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_KERNELS(X)                                                                                            \
	X(KERNELS, gpu, kernels_add_gpu(&all->kernels, event))                                                         \
	X(KERNELS, finish, kernels_finish(&all->kernels, event->lines))                                                \
	X(KERNELS, free, kernels_free(&all->kernels))

#endif
