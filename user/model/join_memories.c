/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory: which release belongs to which allocation.  An address has one owner at a time, so order tells. */
#include <stdlib.h>

#include "model/tables.h"

bool builder_add_memory(struct builder *builder, struct program program, const struct new_memory *memory)
{
	struct memory_arrival arrival = {.program = program, .memory = *memory};

	/* no GPU has a PB; sums of sizes that a target made up must not run over */
	if (memory->bytes >= 1ull << 50)
		return false;
	array_push(&builder->memory_arrivals, arrival);
	return true;
}

static int compare_times(const void *left, const void *right)
{
	const struct model_memory *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	/* a block that is released and handed out again within a tick of the clock */
	if (a->released != b->released)
		return a->released ? -1 : 1;
	return (a->corr > b->corr) - (a->corr < b->corr);
}

/* Those without a place in the recording go. */
static void place(struct builder *builder)
{
	for (size_t i = 0; i < builder->memory_arrivals.count; i++) {
		const struct memory_arrival *arrival = &builder->memory_arrivals.items[i];
		const struct new_memory *from = &arrival->memory;
		uint32_t process = arrival->program.process;
		struct model_memory memory = {.address = from->address,
					      .bytes = from->bytes,
					      .pool_bytes = from->pool_bytes,
					      .pool_used_bytes = from->pool_used_bytes,
					      .call = calls_place(&builder->calls, arrival->program.space, from->corr),
					      .other = NONE,
					      .process = process,
					      .device = device_table_find(&builder->devices, process, from->device),
					      .corr = from->corr,
					      .kind = (uint8_t)from->kind,
					      .released = from->released};
		struct clock_span moment = {.start_ns = from->time_ns, .end_ns = from->time_ns};

		if (!convert_span(builder, process, from->clock, moment, calls_start(&builder->calls, memory.call),
				  &moment)) {
			builder_count_bad(builder);
			continue;
		}
		memory.time_ns = moment.start_ns;
		if (!begins_behind(builder, memory.call, memory.time_ns))
			array_push(&builder->memories, memory);
	}
	array_free(&builder->memory_arrivals);
}

static void pair(struct builder *builder)
{
	struct lookup live; /* (process + 1, address) to index + 1; 0: not live */

	lookup_init(&live, hash_seed());
	for (size_t i = 0; i < builder->memories.count; i++) {
		struct model_memory *memory = &builder->memories.items[i];
		uint32_t *index = lookup_put(&live, memory->process + 1, memory->address, 0);

		if (memory->released && *index) {
			struct model_memory *allocated = &builder->memories.items[*index - 1];

			memory->other = *index - 1;
			memory->bytes = allocated->bytes;
			memory->kind = allocated->kind;
			memory->device = allocated->device;
			allocated->other = (uint32_t)i;
		}
		*index = memory->released ? 0 : (uint32_t)i + 1;
	}
	lookup_free(&live);
}

void join_memories(struct builder *builder)
{
	place(builder);
	if (builder->memories.count)
		qsort(builder->memories.items, builder->memories.count, sizeof(builder->memories.items[0]),
		      compare_times);
	pair(builder);
}
