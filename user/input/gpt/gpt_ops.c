/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that an agent writes about PyTorch's ops. */
#include "input/gpt/gpt_records.h"

bool gpt_add_agent_op(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_op *event = (const struct gpt_agent_op *)record;
	struct new_op op = {.start_ns = event->start_ns,
			    .end_ns = event->end_ns,
			    .sequence = event->sequence,
			    .handle = event->handle,
			    .torch_thread = event->thread,
			    .forward_thread = event->forward_thread,
			    .tid = event->tid,
			    .name = event->name,
			    .inputs = event->inputs & GPT_AGENT_NAME_OF_INPUTS ? event->inputs : 0,
			    .collective = event->collective,
			    .collective_sequence = -1,
			    .scope = event->scope,
			    .async = event->flags & GPT_AGENT_OP_ASYNC,
			    .open = event->flags & GPT_AGENT_OP_OPEN};

	if (record->size >= offsetof(struct gpt_agent_op, collective_sequence))
		op.stack = event->stack;
	if (record->size >= sizeof(*event))
		op.collective_sequence = event->collective_sequence;
	/* later than its own batch: not this machine's clock (a time namespace shifts it) */
	if (event->end_ns > sender->time_ns)
		return false;
	return builder_add_op(builder, sender->program, &op);
}

bool gpt_add_agent_ops(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_ops *event = (const struct gpt_agent_ops *)record;
	struct new_op_state state = {.time_ns = event->time_ns,
				     .lost = event->lost,
				     .inputs_lost = event->inputs_lost,
				     .version = event->version};
	size_t at = 0;

	if (event->bytes > record->size - sizeof(*event) || event->state < GPT_AGENT_OPS_WAITING)
		return false;
	if (event->state > GPT_AGENT_OPS_REFUSED) /* newer than this reader */
		return true;
	state.state = (enum gpt_agent_ops_state)event->state;
	gpt_field(event->text, event->bytes, &at); /* where PyTorch is */
	state.detail = gpt_field(event->text, event->bytes, &at);
	builder_add_op_state(builder, sender->program, &state);
	return true;
}

bool gpt_add_agent_torch_memory(struct builder *builder, const struct gpt_sender *sender,
				const struct gpt_record *record)
{
	const struct gpt_agent_torch_memory *event = (const struct gpt_agent_torch_memory *)record;
	struct new_torch_memory memory = {.time_ns = event->time_ns,
					  .address = event->address,
					  .bytes = event->bytes,
					  .allocated = event->allocated,
					  .reserved = event->reserved,
					  .stack = event->stack,
					  .tid = event->tid,
					  .kind = event->kind,
					  .device_type = event->device_type,
					  .device = event->device,
					  .has_totals = event->has_totals};

	if (event->time_ns > sender->time_ns || event->kind < GPT_AGENT_TORCH_MEMORY_ALLOCATED)
		return false;
	if (event->kind > GPT_AGENT_TORCH_MEMORY_OUT) /* newer than this reader */
		return true;
	return builder_add_torch_memory(builder, sender->program, &memory);
}

bool gpt_add_agent_torch_memory_state(struct builder *builder, const struct gpt_sender *sender,
				      const struct gpt_record *record)
{
	const struct gpt_agent_torch_memory_state *event = (const struct gpt_agent_torch_memory_state *)record;
	struct new_torch_memory_state state = {.lost = event->lost};

	if (event->bytes > record->size - sizeof(*event))
		return false;
	state.detail = gpt_text(event->text, event->bytes);
	builder_add_torch_memory_state(builder, sender->program, &state);
	return true;
}

bool gpt_add_agent_step(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_step *event = (const struct gpt_agent_step *)record;
	struct new_reported_step step = {.time_ns = event->time_ns,
					 .number = event->number,
					 .tid = event->tid,
					 .cycle = event->cycle,
					 .phase = (enum gpt_step_phase)event->phase,
					 .by = (enum gpt_step_by)event->by,
					 .late = event->late != 0,
					 .lost = event->lost};

	if (event->time_ns > sender->time_ns || event->by == GPT_STEP_BY_FIRST)
		return false;
	if (event->phase > GPT_STEP_OVER || event->by > GPT_STEP_BY_CAPTURE) /* newer than this reader */
		return true;
	return builder_add_reported_step(builder, sender->program, &step);
}

bool gpt_add_agent_schedule(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_schedule *event = (const struct gpt_agent_schedule *)record;

	(void)sender;
	builder_set_schedule(builder,
			     (uint64_t)event->skip_first + (event->skip_first_wait ? 0 : event->wait) + event->warmup,
			     event->by == GPT_STEP_BY_CAPTURE);
	return true;
}
