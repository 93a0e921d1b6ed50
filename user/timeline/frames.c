/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/frames.h"

/* A stack is often that of the call before. */
static void make_frames(struct visit *visit, const struct model *model, const struct model_stack *stack)
{
	visit->frames.count = 0;
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];
		struct timeline_frame here = {.code = frame->code, .line = frame->line};
		struct timeline_frame gap = {.code = TIMELINE_NONE, .left_out = stack->missing};

		array_push(&visit->frames, here);
		if (stack->missing && stack->gap == i + 1)
			array_push(&visit->frames, gap);
	}
}

struct timeline_stack visit_frames(struct visit *visit, uint32_t index)
{
	const struct model *model = visit->timeline->model;
	const struct model_stack *stack = &model->stacks[index];

	_Static_assert(MODEL_MISSING_UNKNOWN == TIMELINE_LEFT_OUT_UNKNOWN, "is handed over as it is");
	if (visit->stack != index)
		make_frames(visit, model, stack);
	visit->stack = index;
	return (struct timeline_stack){.id = index,
				       .frames = visit->frames.items,
				       .count = (uint32_t)visit->frames.count,
				       .truncated = stack->missing != 0};
}

struct timeline_native_stack visit_native_frames(struct visit *visit, const struct model_call *call)
{
	const struct model *model = visit->timeline->model;
	const struct model_native *native = &model->natives[call->native];
	uint32_t first, end;

	model_native_span(model, call, &first, &end);
	visit->names.count = 0;
	for (uint32_t i = first; i < end; i++)
		array_push(&visit->names, model->strings[model->native_frames[native->first + i]]);
	return (struct timeline_native_stack){.names = visit->names.items, .count = (uint32_t)visit->names.count};
}
