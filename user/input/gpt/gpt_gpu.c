/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUPTI's records, as the agent passes them on: GPU operations, driver activity, memory, synchronisation. */
#include "input/gpt/gpt_records.h"

#define MEMCPY_KIND_MAX 10 /* CUPTI_ACTIVITY_MEMCPY_KIND_PTOP (cupti_activity.h, 13.0) */
#define MEMORY_KIND_MAX 7  /* CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC */

static uint8_t memory_kind(uint32_t kind)
{
	return kind <= MEMORY_KIND_MAX ? (uint8_t)kind : 0;
}

/* Adds a kernel's name and, after a NUL, the place of its function. */
static void add_kernel_name(struct builder *builder, const struct gpt_sender *sender, const struct gpt_agent_name *name)
{
	size_t size = strnlen(name->text, name->bytes), used = size + (size < name->bytes);

	builder_add_name(builder, sender->program, name->id, (struct text){name->text, size},
			 (struct text){name->text + used, name->bytes - used});
}

bool gpt_add_agent_name(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_name *name = (const struct gpt_agent_name *)record;

	if (name->bytes > record->size - sizeof(*name) || !name->id)
		return false;
	if (name->id & GPT_AGENT_NAME_OF_OP)
		builder_add_op_text(builder, sender->program, name->id, (struct text){name->text, name->bytes});
	else if (name->id & GPT_AGENT_NAME_OF_INPUTS)
		return builder_add_op_inputs(builder, sender->program, name->id,
					     (struct text){name->text, name->bytes});
	else
		add_kernel_name(builder, sender, name);
	return true;
}

/* Every member is named, also zero ones: otherwise the compiler clears the whole struct first, which is slow. */
bool gpt_add_agent_kernel(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)record;
	struct new_gpu_work *work = builder_room_for_gpu_work(builder);

	*work = (struct new_gpu_work){.span = {kernel->start_wall_ns, kernel->end_wall_ns},
				      .bytes = 0,
				      .graph_node = kernel->graph_node,
				      .graph = kernel->graph,
				      .corr = kernel->corr,
				      .device = kernel->device,
				      .context = kernel->context,
				      .stream = kernel->stream,
				      .name = kernel->name,
				      .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
				      .block = {kernel->block[0], kernel->block[1], kernel->block[2]},
				      .static_shared_bytes = kernel->static_shared_bytes,
				      .dynamic_shared_bytes = kernel->dynamic_shared_bytes,
				      .registers = kernel->registers,
				      .local_bytes = kernel->local_bytes_per_thread,
				      .channel = kernel->channel,
				      .clock = (uint8_t)sender->clock,
				      .kind = MODEL_KERNEL,
				      .foreign = sender->foreign,
				      .cluster = {gpt_small(kernel->cluster[0]), gpt_small(kernel->cluster[1]),
						  gpt_small(kernel->cluster[2])},
				      .channel_type = gpt_small(kernel->channel_type),
				      .priority = gpt_priority((uint32_t)kernel->priority),
				      .unknown = 0,
				      .memcpy_kind = 0,
				      .from = 0,
				      .to = 0};

	return builder_add_gpu_work(builder, sender->program, work);
}

bool gpt_add_agent_memcpy(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memcpy *event = (const struct gpt_agent_memcpy *)record;
	struct new_gpu_work work = {.span = {event->start_wall_ns, event->end_wall_ns},
				    .clock = (uint8_t)sender->clock,
				    .kind = MODEL_MEMCPY,
				    .foreign = sender->foreign,
				    .corr = event->corr,
				    .device = event->device,
				    .context = event->context,
				    .stream = event->stream,
				    .bytes = event->bytes,
				    .graph = event->graph,
				    .graph_node = event->graph_node,
				    .channel = event->channel,
				    .channel_type = gpt_small(event->channel_type),
				    .memcpy_kind = event->kind <= MEMCPY_KIND_MAX ? event->kind : 0,
				    .from = memory_kind(event->from),
				    .to = memory_kind(event->to)};

	return builder_add_gpu_work(builder, sender->program, &work);
}

bool gpt_add_agent_memset(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memset *event = (const struct gpt_agent_memset *)record;
	struct new_gpu_work work = {.span = {event->start_wall_ns, event->end_wall_ns},
				    .clock = (uint8_t)sender->clock,
				    .kind = MODEL_MEMSET,
				    .foreign = sender->foreign,
				    .corr = event->corr,
				    .device = event->device,
				    .context = event->context,
				    .stream = event->stream,
				    .bytes = event->bytes,
				    .graph = event->graph,
				    .graph_node = event->graph_node,
				    .to = memory_kind(event->memory)};

	return builder_add_gpu_work(builder, sender->program, &work);
}

bool gpt_add_agent_overhead(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_overhead *event = (const struct gpt_agent_overhead *)record;
	struct new_overhead overhead = {.span = {event->start_wall_ns, event->end_wall_ns},
					.clock = sender->clock,
					.kind = event->kind,
					.tid = event->tid};

	return builder_add_overhead(builder, sender->program, &overhead);
}

bool gpt_add_agent_jit(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_jit *event = (const struct gpt_agent_jit *)record;
	struct new_jit jit = {.span = {event->start_wall_ns, event->end_wall_ns},
			      .clock = sender->clock,
			      .bytes = event->bytes,
			      .corr = event->corr,
			      .tid = event->tid,
			      .operation = (enum gpt_agent_jit_operation)event->operation};

	if (event->entry <= GPT_AGENT_JIT_NVVM_TO_PTX)
		jit.entry = (enum gpt_agent_jit_entry)event->entry;
	return builder_add_jit(builder, sender->program, &jit);
}

bool gpt_add_agent_sync(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_sync *event = (const struct gpt_agent_sync *)record;
	struct new_sync sync = {.span = {event->start_wall_ns, event->end_wall_ns},
				.clock = sender->clock,
				.event_record = event->event_record,
				.corr = event->corr,
				.context = event->context,
				.stream = event->stream,
				.event = event->event,
				.result = event->result,
				.kind = event->kind};

	return builder_add_sync(builder, sender->program, &sync);
}

bool gpt_add_agent_event(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_event *event = (const struct gpt_agent_event *)record;
	struct new_event_record recorded = {.event_record = event->event_record,
					    .corr = event->corr,
					    .context = event->context,
					    .stream = event->stream,
					    .event = event->event};

	builder_add_event_record(builder, sender->program, &recorded);
	return true;
}

bool gpt_add_agent_memory(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_memory *event = (const struct gpt_agent_memory *)record;
	struct new_memory memory = {.time_ns = event->time_wall_ns,
				    .clock = sender->clock,
				    .released = event->operation == GPT_AGENT_MEMORY_RELEASED,
				    .address = event->address,
				    .bytes = event->bytes,
				    .pool_bytes = event->pool_bytes,
				    .pool_used_bytes = event->pool_used_bytes,
				    .corr = event->corr,
				    .device = event->device,
				    .kind = memory_kind(event->kind)};

	/* an operation that is newer than this reader */
	if (!memory.released && event->operation != GPT_AGENT_MEMORY_ALLOCATED)
		return true;
	return builder_add_memory(builder, sender->program, &memory);
}

bool gpt_add_agent_graph_node(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_graph_node *node = (const struct gpt_agent_graph_node *)record;

	if (!node->node || (!node->source && !node->corr))
		return false;
	if (node->source)
		builder_add_graph_clone(builder, sender->program, node->node, node->source);
	else
		builder_add_graph_node(builder, sender->program, node->node, node->corr);
	return true;
}
