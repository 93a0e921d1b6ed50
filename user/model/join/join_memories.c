/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs allocations and releases of memory.  An address has one owner at a time, so order decides. */
#include <stdlib.h>

#include "base/order.h"
#include "model/join/tables.h"

bool builder_add_agent_memory(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_memory *memory)
{
	/* an operation that is newer than this reader */
	if (memory->operation != GPT_AGENT_MEMORY_ALLOCATED && memory->operation != GPT_AGENT_MEMORY_RELEASED)
		return true;
	/* no GPU has a PB; sums of sizes invented by a target must not overflow */
	if (memory->bytes >= 1ull << 50)
		return false;
	receive_memory(builder, PENDING(memory, sender, memory), memory->corr);
	return true;
}

/* By time; a block that is released and allocated again within a clock tick is released first. */
DEFINE_ORDER(compare_times, struct model_memory,
	     least_first(a->time_ns, b->time_ns) ?: most_first(a->released, b->released) ?:
	     least_first(a->corr, b->corr))

bool join_memory(struct builder *builder, const struct pending_memory *pending, uint64_t complete_ns)
{
	const struct gpt_agent_memory *from = &pending->record;
	uint32_t process = pending->program.process;
	struct model_memory memory = {.address = from->address,
				      .bytes = from->bytes,
				      .pool_bytes = from->pool_bytes,
				      .pool_used_bytes = from->pool_used_bytes,
				      .call = calls_place(&builder->calls, pending->program.epoch, from->corr),
				      .other = NONE,
				      .process = process,
				      .device =
					      device_table_find(&known_facts(builder)->devices, process, from->device),
				      .corr = from->corr,
				      .kind = gpu_known_memory(from->kind),
				      .released = from->operation == GPT_AGENT_MEMORY_RELEASED};
	struct clock_span moment = {.start_ns = from->time_wall_ns, .end_ns = from->time_wall_ns};
	enum event_place place = place_event(builder,
					     &(struct event_origin){.process = process,
								    .clock = pending->clock,
								    .call = memory.call,
								    .corr = memory.corr,
								    .shared = pending->shared,
								    .waits = memory.corr != 0},
					     &moment, complete_ns);

	memory.time_ns = moment.start_ns;
	if (place == EVENT_IN_TRACE)
		array_push(&builder->memories, memory);
	return place != EVENT_WAITS;
}

/* live: (process + 1, address) to index + 1; 0: not live */
static void pair_with_owner(struct builder *builder, struct lookup *live, uint32_t index)
{
	struct model_memory *memory = &builder->memories.items[index];
	uint32_t *owner = lookup_put(live, memory->process + 1, memory->address, 0);

	if (memory->released && *owner) {
		struct model_memory *allocated = &builder->memories.items[*owner - 1];

		memory->other = *owner - 1;
		memory->bytes = allocated->bytes;
		memory->kind = allocated->kind;
		memory->device = allocated->device;
		allocated->other = index;
	}
	*owner = memory->released ? 0 : index + 1;
}

void pair_memories(struct builder *builder, uint64_t until_ns)
{
	uint32_t from = builder->model->memories_in_part.from;

	if (builder->memories.count > from)
		qsort(builder->memories.items + from, builder->memories.count - from,
		      sizeof(builder->memories.items[0]), compare_times);
	for (uint32_t i = from; i < builder->memories.count && builder->memories.items[i].time_ns < until_ns; i++)
		pair_with_owner(builder, &builder->parts.allocations, i);
}
