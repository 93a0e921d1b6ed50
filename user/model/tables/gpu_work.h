/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU operations: as they came, and as they are joined (join_gpu.c), when what they need has come. */
#ifndef GPUTRACE_GPU_WORK_H
#define GPUTRACE_GPU_WORK_H

#include "base/array.h"
#include "model/events.h"

/* As it came. */
struct pending_gpu {
	struct new_gpu_work work;
	struct process_image program;
	struct kernel_texts texts;
	uint32_t call; /* its number (calls_find), NONE: had not come yet */
};

struct gpu_work {
	ARRAY(struct pending_gpu) pending;
	ARRAY(struct pending_gpu) waiting; /* those that a part leaves for the next one */
	struct model_gpu *list;		   /* those of `joined` */
	size_t count;
	bool any_foreign;		/* some came from buffers of other profilers */
	ARRAY(struct model_gpu) joined; /* what earlier parts left, and what is joined since */
};

#endif
