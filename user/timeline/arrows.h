/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which GPU operations have an arrow from their call.  This is known in the operation's part: if the operation is in a
 * different part from its call, that part has the whole arrow, including its start.
 */
#pragma once

#include "model/model.h"
#include "timeline/placement.h"

/* op: in the part.  An arrow must point forward in time; Perfetto counts any other as an error. */
static inline bool has_arrow(const struct timeline *timeline, uint32_t op)
{
	const struct model_gpu *gpu = &timeline->model->gpu[op];

	return gpu->call != NONE && timeline->model->calls[gpu->call].number != CALL_OUTSIDE &&
	       placed_row(&timeline->placement->gpu, op) != ROW_NONE &&
	       gpu->start_ns >= timeline->model->calls[gpu->call].start_ns;
}
