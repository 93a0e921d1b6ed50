/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of the model, in the form in which a timeline hands them over. */
#pragma once

#include "model/model.h"
#include "timeline/visit.h"

/* The frames of a stack of the model; they are valid until the next call. */
struct timeline_stack visit_frames(struct visit *visit, uint32_t stack);

/*
 * Adds arguments with a stack, stored in *kept with the lifetime of visit_frames; or with the reason why there is none.
 */
void draft_stack(struct visit *visit, struct draft *draft, uint32_t stack, uint8_t state, struct timeline_stack *kept);

/*
 * The native frames of a call between Python and CUDA, valid until the next call of this function; call->native is not
 * NONE.
 */
struct timeline_native_stack visit_native_frames(struct visit *visit, const struct model_call *call);

/* The innermost function of model.natives[native]; NULL: there is none. */
static inline const char *innermost_native(const struct model *model, uint32_t native)
{
	const struct model_native *stack = native != NONE ? &model->natives[native] : NULL;

	return stack && stack->depth ? model->strings[model->native_frames[stack->first]] : NULL;
}

/* The innermost frame of a stack. */
static inline struct timeline_frame innermost_frame(const struct model *model, uint32_t stack)
{
	const struct model_frame *frame = &model->frames[model->stack_frames[model->stacks[stack].first]];

	return (struct timeline_frame){.code = frame->code, .line = model_shown_line(model, frame)};
}

/* Adds an argument with the innermost frame of a stack, stored in *kept; adds none if there is no stack. */
static inline void draft_line(struct draft *draft, const struct model *model, enum timeline_arg_key key, uint32_t stack,
			      struct timeline_frame *kept)
{
	if (stack == NONE)
		return;
	*kept = innermost_frame(model, stack);
	draft_arg(draft, key)->frame = kept;
}
