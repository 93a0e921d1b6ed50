/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stacks that calls of CUDA were made from. */
#include "input/gpt/gpt_records.h"

/* Whether an entry of a truncated stack holds the number of frames left out in its place. */
static bool is_gap(const struct gpt_pystack *stack, uint32_t index)
{
	return !stack->frames[index].code && stack->frames[index].lasti > 0 &&
	       stack->hdr.flags & GPT_PYSTACK_TRUNCATED &&
	       index == GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1;
}

static bool has_gap_before(const struct gpt_pystack *stack, int32_t frame)
{
	uint32_t gap = GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1;

	return frame > (int32_t)gap && is_gap(stack, gap);
}

static const struct gpt_stack_module *innermost_module(const struct gpt_pystack *event)
{
	return (const struct gpt_stack_module *)&event->frames[event->depth];
}

/* Reads the modules after the frames.  False: one of them makes no sense. */
static bool read_modules(const struct gpt_pystack *event, struct new_stack_module *modules, uint32_t *count)
{
	const struct gpt_stack_module *from = innermost_module(event);
	size_t room = (event->hdr.size - sizeof(*event)) / sizeof(event->frames[0]) - event->depth;

	if (!(event->hdr.flags & GPT_PYSTACK_MODULES))
		return true;
	if (room > GPT_PYSTACK_MAX_MODULES)
		return false;
	for (size_t i = 0; i < room; i++) {
		if (!from[i].module || from[i].frame < 0 || (uint32_t)from[i].frame >= event->depth)
			return false;
		modules[i] = (struct new_stack_module){.address = from[i].module,
						       .generation = from[i].generation,
						       .frame = (uint32_t)from[i].frame -
								has_gap_before(event, from[i].frame)};
	}
	*count = (uint32_t)room;
	return true;
}

bool gpt_add_pystack(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_pystack *event = (const struct gpt_pystack *)record;
	struct new_frame frames[GPT_PYSTACK_MAX_FRAMES];
	struct new_stack_module modules[GPT_PYSTACK_MAX_MODULES];
	struct new_stack stack = {.key = event->id, .frames = frames, .modules = modules};

	if (!event->id || !event->depth || event->depth > GPT_PYSTACK_MAX_FRAMES ||
	    event->depth > (record->size - sizeof(*event)) / sizeof(event->frames[0]) ||
	    !read_modules(event, modules, &stack.module_count))
		return false;
	for (uint32_t i = 0; i < event->depth; i++) {
		const struct gpt_pyframe *frame = &event->frames[i];

		if (is_gap(event, i)) {
			stack.gap = stack.depth;
			stack.missing = (uint32_t)frame->lasti;
		} else {
			frames[stack.depth++] = (struct new_frame){.code = frame->code, .lasti = frame->lasti};
		}
	}
	if (record->flags & GPT_PYSTACK_TRUNCATED && !stack.missing) {
		stack.gap = stack.depth;
		stack.missing = MODEL_MISSING_UNKNOWN;
	}
	stack.module_missing =
		stack.missing && (!stack.module_count || (uint32_t)innermost_module(event)->frame >= stack.gap);
	builder_add_stack(builder, event->pid, &stack);
	return true;
}

bool gpt_add_native_stack(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_native_stack *event = (const struct gpt_native_stack *)record;
	uint64_t ips[GPT_NATIVE_MAX_FRAMES];

	if (!event->id || !event->depth || event->depth > GPT_NATIVE_MAX_FRAMES ||
	    event->depth > (record->size - sizeof(*event)) / sizeof(event->ip[0]))
		return false;
	for (uint32_t i = 0; i < event->depth; i++)
		ips[i] = event->ip[i];
	builder_add_native_stack(builder, event->pid, event->id, ips, event->depth);
	return true;
}

bool gpt_add_native_sym(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_native_sym *event = (const struct gpt_native_sym *)record;
	struct text symbol, module;

	if (!GPT_READ_FIELDS(event, &symbol, &module))
		return false;
	builder_add_native_symbol(builder, event->pid, event->ip, symbol, module);
	return true;
}
