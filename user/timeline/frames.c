/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/frames.h"

static void make_frames(struct stack_frames *here, const struct model *model, const struct model_stack *stack)
{
	here->frames.count = 0;
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		array_push(&here->frames,
			   ((struct timeline_frame){.code = frame->code, .line = model_shown_line(model, frame)}));
		if (stack->missing && stack->gap == i + 1)
			array_push(&here->frames,
				   ((struct timeline_frame){.code = TIMELINE_NONE, .left_out = stack->missing}));
	}
}

struct timeline_stack visit_frames(struct visit *visit, uint32_t index)
{
	const struct model *model = visit->timeline->model;
	const struct model_stack *stack = &model->stacks[index];
	struct stack_frames *here = &visit->stacks[index % VISIT_STACKS];

	_Static_assert(MODEL_MISSING_UNKNOWN == TIMELINE_LEFT_OUT_UNKNOWN, "is handed over as it is");
	if (here->stack != index || !here->frames.count)
		make_frames(here, model, stack);
	here->stack = index;
	return (struct timeline_stack){.id = index,
				       .frames = here->frames.items,
				       .count = (uint32_t)here->frames.count,
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

/* enum gpt_stack_state */
static const char *const stack_reasons[] = {
	[GPT_STACK_NO_PYTHON] = "no Python in the process",
	[GPT_STACK_NO_THREAD] = "not a Python thread",
	[GPT_STACK_EMPTY] = "no Python frame",
	[GPT_STACK_UNREADABLE] = "could not be read",
	[GPT_STACK_UNKNOWN_LAYOUT] = "this Python is not supported or was not examined yet",
	[GPT_STACK_LOST] = "lost",
	[GPT_STACK_AMBIGUOUS] = "several interpreters on one thread",
	[GPT_STACK_NOT_RECORDED] = "not recorded",
	[GPT_STACK_FILTERED] = "not read: the program filters its system calls",
	[GPT_STACK_LOWERED] = "not recorded: detail lowered",
};

void draft_stack(struct visit *visit, struct draft *draft, uint32_t stack, uint8_t state, struct timeline_stack *kept)
{
	if (state == GPT_STACK_BACKWARD)
		draft_text(draft, TIMELINE_ARG_STACK_OF, "the call to backward() that this thread works for");
	if (stack != NONE) {
		*kept = visit_frames(visit, stack);
		draft_arg(draft, TIMELINE_ARG_STACK)->stack = kept;
	} else if (state < sizeof(stack_reasons) / sizeof(stack_reasons[0]) && stack_reasons[state]) {
		draft_text(draft, TIMELINE_ARG_NO_STACK, stack_reasons[state]);
	}
}
