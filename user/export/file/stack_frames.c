/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/file/stack_frames.h"

#include <stdio.h>

struct walk {
	const struct model *model;
	stack_frame_fn *take;
	void *context;
};

static void take_text(const struct walk *walk, enum stack_frame_kind kind, const char *name)
{
	walk->take(walk->context, &(struct stack_frame){.kind = kind, .before = "", .name = name, .file = ""});
}

static void take_python(const struct walk *walk, uint32_t index, const char *before)
{
	const struct model_frame *frame = &walk->model->frames[index];
	const struct model_code *code = &walk->model->codes[frame->code];

	walk->take(walk->context, &(struct stack_frame){.kind = STACK_FRAME_PYTHON,
							.before = before,
							.name = code->name,
							.file = code->file,
							.line = model_shown_line(walk->model, frame),
							.first_line = code->first_line});
}

static void take_stack(const struct walk *walk, const struct model_stack *stack)
{
	/* Without the number: recursions of different depths should fall together. */
	if (stack->missing && stack->gap == stack->depth)
		take_text(walk, STACK_FRAME_NOTE, "[cut]");
	for (uint32_t i = stack->depth; i-- > 0;) {
		take_python(walk, walk->model->stack_frames[stack->first + i], "");
		if (stack->missing && stack->gap == i)
			take_text(walk, STACK_FRAME_NOTE, "[cut]");
	}
}

static void take_native(const struct walk *walk, const struct stack_row *row)
{
	const struct model *model = walk->model;
	const struct model_call call = {.native = row->native, .api = (uint16_t)row->api};
	uint32_t first, end;

	model_native_span(model, &call, &first, &end);
	while (end-- > first)
		take_text(walk, STACK_FRAME_NATIVE,
			  model->strings[model->native_frames[model->natives[call.native].first + end]]);
}

static void take_callers(const struct walk *walk, const struct stack_row *row)
{
	const struct model *model = walk->model;
	char text[128];

	take_text(walk, STACK_FRAME_PROCESS, model->processes[row->process].name);
	if (row->stack != NONE)
		take_stack(walk, &model->stacks[row->stack]);
	if (row->is_backward)
		take_text(walk, STACK_FRAME_NOTE, "[backward]");
	if (row->node != NONE)
		take_text(walk, STACK_FRAME_NOTE, model->strings[row->node]);
	if (row->is_captured)
		take_text(walk, STACK_FRAME_NOTE, "[captured]");
	if (row->enclosing != NONE)
		take_text(walk, STACK_FRAME_NOTE, model->strings[row->enclosing]);
	if (row->thread != NONE) {
		snprintf(text, sizeof(text), "thread %.64s (%s)", model->threads[row->thread].name,
			 row->is_unknown ? "stack not known" : "no Python");
		take_text(walk, STACK_FRAME_NOTE, text);
	}
	if (row->native != NONE && row->api != STACK_CALL_NONE)
		take_native(walk, row);
}

/* The innermost native function that a sample found. */
static void take_innermost(const struct walk *walk, const struct stack_row *row)
{
	const struct model *model = walk->model;

	if (row->native != NONE)
		take_text(walk, STACK_FRAME_NATIVE,
			  model->strings[model->native_frames[model->natives[row->native].first]]);
}

void stack_row_frames(const struct model *model, const struct stack_row *row, stack_frame_fn *take, void *context)
{
	const struct walk walk = {.model = model, .take = take, .context = context};
	char buffer[256];

	take_callers(&walk, row);
	if (row->api == STACK_CALL_UNSEEN)
		take_text(&walk, STACK_FRAME_NOTE, "[launch not seen]");
	else if (row->api == STACK_CALL_BEFORE)
		take_text(&walk, STACK_FRAME_NOTE, "[launched before the trace]");
	else if (row->api == STACK_CALL_DRIVER)
		take_text(&walk, STACK_FRAME_NOTE, "[managed memory, moved by the driver]");
	else if (row->api == STACK_CALL_NONE)
		take_innermost(&walk, row);
	else
		take_text(&walk, STACK_FRAME_CALL, api_name((uint16_t)row->api));
	if (row->captured_frame != NONE)
		take_python(&walk, row->captured_frame, "captured at ");
	if (row->has_operation)
		take_text(&walk, STACK_FRAME_OPERATION, gpu_name(model, &row->operation, buffer, sizeof(buffer)));
}

void stack_python_frames(const struct model *model, uint32_t stack, stack_frame_fn *take, void *context)
{
	const struct walk walk = {.model = model, .take = take, .context = context};

	take_stack(&walk, &model->stacks[stack]);
}
