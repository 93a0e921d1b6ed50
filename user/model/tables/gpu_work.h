/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU operations: as they came, and as they are joined.  Joining needs every clock sample, call and device, so it
 * begins when all has come; then each operation takes the place that it came in.
 */
#ifndef GPUTRACE_GPU_WORK_H
#define GPUTRACE_GPU_WORK_H

#include "base/array.h"
#include "model/events.h"

/* As it came. */
struct gpu_arrival {
	struct new_gpu_work work;
	struct program program;
	struct kernel_texts texts;
	uint32_t call; /* its number (calls_find), NONE: had not come yet */
};

/* An operation before gpu_work_join and after it: as large, so that the joined ones need no memory of their own. */
union gpu_slot {
	struct gpu_arrival arrival;
	struct model_gpu joined;
};

_Static_assert(sizeof(union gpu_slot) == sizeof(struct model_gpu), "an arrival takes no more than an operation");

struct gpu_work {
	ARRAY(union gpu_slot) arrivals; /* before */
	ARRAY(union gpu_slot) waiting;	/* of a second reading: those that a part leaves for the next one */
	struct model_gpu *list;		/* after: the same memory; or that of `joined` */
	size_t count;
	bool any_foreign;		/* some came from buffers of other profilers */
	ARRAY(struct model_gpu) joined; /* of a second reading: what earlier parts left, and what is joined since */
};

#endif
