/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices, contexts and streams, as CUPTI numbers them in a process. */
#include "input/gpt/gpt_records.h"

bool gpt_add_agent_device(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_device *event = (const struct gpt_agent_device *)record;
	struct new_device device = {
		.memory_bytes = event->memory_bytes,
		.id = event->id,
		.multiprocessors = event->multiprocessors,
		.compute_major = event->compute_major,
		.compute_minor = event->compute_minor,
		.warp_size = event->warp_size,
		.max_threads_per_multiprocessor = event->max_threads_per_multiprocessor,
		.max_threads_per_block = event->max_threads_per_block,
		.max_blocks_per_multiprocessor = event->max_blocks_per_multiprocessor,
		.max_registers_per_multiprocessor = event->max_registers_per_multiprocessor,
		.max_registers_per_block = event->max_registers_per_block,
		.max_shared_per_multiprocessor = event->max_shared_per_multiprocessor,
		.max_shared_per_block = event->max_shared_per_block,
	};

	if (event->bytes > record->size - sizeof(*event))
		return false;
	device.name = gpt_text(event->name, event->bytes);
	memcpy(device.uuid, event->uuid, sizeof(device.uuid));
	return builder_add_device(builder, sender->program, &device);
}

bool gpt_add_agent_context(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_context *context = (const struct gpt_agent_context *)record;

	builder_add_context(builder, sender->program, context->context, context->device,
			    context->compute_api == GPT_AGENT_COMPUTE_API_MPS);
	return true;
}

bool gpt_add_agent_stream(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_stream *event = (const struct gpt_agent_stream *)record;
	struct new_stream stream = {.context = event->context,
				    .stream = event->stream,
				    .priority = gpt_priority(event->priority),
				    .flags = gpt_small(event->flags)};

	builder_add_stream(builder, sender->program, &stream);
	return true;
}
