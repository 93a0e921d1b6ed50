/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of CUDA and the stacks that they were made from. */
#include "input/gpt/gpt_records.h"

static struct model_args args_of(const struct gpt_call_args *record)
{
	struct model_args args = {.function = record->function,
				  .stream = record->stream,
				  .bytes = record->bytes,
				  .shared_bytes = record->shared_bytes,
				  .memcpy_kind = record->memcpy_kind};

	memcpy(args.grid, record->grid, sizeof(args.grid));
	memcpy(args.block, record->block, sizeof(args.block));
	return args;
}

static bool add_call(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_call *event = (const struct gpt_call *)record;
	struct model_args args;
	struct new_call call = {.time_ns = event->time_ns,
				.stack = event->stack_id,
				.native = event->native_id,
				.pid = event->pid,
				.tid = event->tid,
				.corr = event->corr,
				.api = event->api,
				.stack_state = event->stack_state,
				.nested_in_symbol = record->flags & GPT_CALL_NESTED_IN_SYMBOL,
				.surely_nested = record->flags & GPT_CALL_SURELY_NESTED,
				.after_loss = record->flags & GPT_CALL_AFTER_LOSS};

	if (record->type == GPT_CALL_ARGS) {
		args = args_of((const struct gpt_call_args *)record);
		call.args = &args;
	}
	builder_add_call(builder, &call);
	return true;
}

bool gpt_add_call(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	return add_call(builder, record);
}

bool gpt_add_call_args(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	return add_call(builder, record);
}

bool gpt_add_stack_at(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_stack_at *event = (const struct gpt_stack_at *)record;
	struct new_sampled_stack sampled = {.time_ns = event->time_ns,
					    .stack = event->stack_id,
					    .number = event->number,
					    .what = (enum gpt_stack_of)event->what};

	builder_see_time(builder, event->time_ns);
	if (event->what < GPT_STACK_OF_OP || !event->number)
		return false;
	if (event->what <= GPT_STACK_OF_MEMORY) /* else it is newer than this reader */
		builder_add_sampled_stack(builder, event->pid, &sampled);
	return true;
}

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
	size_t at = 0;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	symbol = gpt_field(event->text, event->bytes, &at);
	module = gpt_field(event->text, event->bytes, &at);
	builder_add_native_symbol(builder, event->pid, event->ip, symbol, module);
	return true;
}
