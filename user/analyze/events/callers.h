/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The caller of a call, as a number by which analyses sum while events come: the innermost Python frame, or the reason
 * why there is none.  Callers become lines at the end, when all frames are known (lines.h).
 */
#pragma once

#include "base/tally.h"
#include "model/model.h"

/* Callers below are indices into model.frames. */
#define CALLER_NO_FRAME 0x80000000u    /* no Python is known: the bits below index callers.no_frame */
#define CALLER_UNSEEN UINT32_MAX       /* the call was not seen */
#define CALLER_BEFORE (UINT32_MAX - 1) /* the call was made before the trace began */
#define CALLER_DRIVER (UINT32_MAX - 3) /* none: gpu_is_migration; the number between is why_threads.h's */

struct callers {
	const struct model *model;
	struct tally no_frame;	 /* thread, stack state, the range or op around the call (model.strings) or NONE */
	struct tally_key latest; /* the key in no_frame that was looked up last; latest_caller: its caller,
				    CALLER_UNSEEN: none yet */
	uint32_t latest_caller;
};

void callers_init(struct callers *callers, const struct model *model);
void callers_free(struct callers *callers);

/* enclosing: as in model_call. */
uint32_t caller_without_frame(struct callers *callers, uint32_t thread, uint8_t stack_state, uint32_t enclosing);

static inline bool stack_has_frames(const struct model *model, uint32_t stack)
{
	return stack != NONE && model->stacks[stack].depth;
}

/*
 * The stack in place of the caller, where the stack has frames; callers without a frame have other numbers.  Sums by it
 * also show who called the innermost line (lines_of_place).
 */
static inline uint32_t caller_place(const struct model *model, uint32_t stack, uint32_t caller)
{
	return stack_has_frames(model, stack) ? stack : caller;
}

/* The caller of anything that a thread does; stack_state counts where it has no stack. */
static inline uint32_t caller_of_thread(struct callers *callers, uint32_t thread, uint32_t stack, uint8_t stack_state)
{
	const struct model *model = callers->model;

	return stack_has_frames(model, stack) ? model->stack_frames[model->stacks[stack].first]
					      : caller_without_frame(callers, thread, stack_state, NONE);
}

static inline uint32_t caller_of(struct callers *callers, const struct model_call *call)
{
	return call->enclosing == NONE
		       ? caller_of_thread(callers, call->thread, call->stack, call->stack_state)
		       : caller_without_frame(callers, call->thread, call->stack_state, call->enclosing);
}
