/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU operations: pending as they arrive, and joined (join_gpu.c) once all that they need has arrived. */
#ifndef GPUTRACE_GPU_WORK_H
#define GPUTRACE_GPU_WORK_H

#include "base/array.h"
#include "model/events.h"

/* An operation as it arrived. */
struct pending_gpu {
	struct new_gpu_work work;
	struct process_image program;
	struct kernel_texts texts;
	uint32_t call; /* its number (calls_find), NONE: not yet arrived */
};

struct gpu_work {
	ARRAY(struct pending_gpu) pending;
	ARRAY(struct pending_gpu) waiting; /* left by a part for the next one */
	struct model_gpu *list;		   /* the items of `joined` */
	size_t count;
	bool any_foreign;		/* some are from other profilers' buffers */
	ARRAY(struct model_gpu) joined; /* left by earlier parts, and joined since */
};

#endif
