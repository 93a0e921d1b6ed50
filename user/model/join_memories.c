/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory: which release belongs to which allocation.  An address has one owner at a time, so order tells. */
#include <stdlib.h>

#include "model/builder.h"

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
static void convert(struct builder *builder)
{
	size_t kept = 0;

	for (size_t i = 0; i < builder->agents.memories.count; i++) {
		struct model_memory memory = builder->agents.memories.items[i];
		uint64_t call_ns = memory.call != NONE ? builder->calls.list.items[memory.call].start_ns : 0;
		uint64_t end_ns = memory.time_ns;

		if (!convert_span(builder, memory.process, call_ns, &memory.time_ns, &end_ns))
			model_source(builder->model)->receipt.bad_records++;
		else if (!begins_behind(builder, memory.call, memory.time_ns))
			builder->agents.memories.items[kept++] = memory;
	}
	builder->agents.memories.count = kept;
}

static void pair(struct builder *builder)
{
	struct lookup live; /* (process + 1, address) to index + 1; 0: not live */

	lookup_init(&live, hash_seed());
	for (size_t i = 0; i < builder->agents.memories.count; i++) {
		struct model_memory *memory = &builder->agents.memories.items[i];
		uint32_t *index = lookup_put(&live, memory->process + 1, memory->address, 0);

		if (memory->released && *index) {
			struct model_memory *allocated = &builder->agents.memories.items[*index - 1];

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
	convert(builder);
	if (builder->agents.memories.count)
		qsort(builder->agents.memories.items, builder->agents.memories.count,
		      sizeof(builder->agents.memories.items[0]), compare_times);
	pair(builder);
}
