/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch of records from an agent, or from a buffer of another profiler.  Everything in it is written by the target:
 * hostile.  A new kind of record is a row here and a function that tells the builder what it says.
 */
#include <gputrace/walk.h>

#include "input/gpt_records.h"

#define ROW(type) [GPT_AGENT_##type - GPT_AGENT_HELLO]

/* Known types by their number less GPT_AGENT_HELLO; those that are not here tell the model nothing, or are newer. */
static const struct {
	size_t size; /* least */
	bool (*add)(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
} kinds[] = {
	ROW(HELLO) = {sizeof(struct gpt_agent_hello), gpt_add_hello},
	ROW(NAME) = {sizeof(struct gpt_agent_name), gpt_add_name},
	ROW(API) = {sizeof(struct gpt_agent_api), gpt_add_return},
	ROW(KERNEL) = {sizeof(struct gpt_agent_kernel), gpt_add_kernel},
	ROW(MEMCPY) = {sizeof(struct gpt_agent_memcpy), gpt_add_memcpy},
	ROW(MEMSET) = {sizeof(struct gpt_agent_memset), gpt_add_memset},
	ROW(OVERHEAD) = {sizeof(struct gpt_agent_overhead), gpt_add_overhead},
	ROW(DEVICE) = {sizeof(struct gpt_agent_device), gpt_add_device},
	ROW(CONTEXT) = {sizeof(struct gpt_agent_context), gpt_add_context},
	ROW(STREAM) = {sizeof(struct gpt_agent_stream), gpt_add_stream},
	ROW(CLOCK) = {sizeof(struct gpt_agent_clock), gpt_add_agent_clock},
	ROW(STATS) = {GPT_AGENT_STATS_FIRST, gpt_add_stats},
	ROW(SYNC) = {sizeof(struct gpt_agent_sync), gpt_add_sync},
	ROW(EVENT) = {sizeof(struct gpt_agent_event), gpt_add_event},
	ROW(MEMORY) = {sizeof(struct gpt_agent_memory), gpt_add_memory},
	ROW(GRAPH_NODE) = {sizeof(struct gpt_agent_graph_node), gpt_add_graph_node},
	ROW(API_ACTIVITY) = {sizeof(struct gpt_agent_api_activity), gpt_add_api_activity},
	ROW(RANGE) = {sizeof(struct gpt_agent_range), gpt_add_range},
	ROW(JIT) = {sizeof(struct gpt_agent_jit), gpt_add_jit},
	ROW(OP) = {offsetof(struct gpt_agent_op, stack), gpt_add_op},
	ROW(OPS) = {sizeof(struct gpt_agent_ops), gpt_add_ops},
	ROW(TORCH_MEMORY) = {sizeof(struct gpt_agent_torch_memory), gpt_add_torch_memory},
	ROW(TORCH_MEMORY_STATE) = {sizeof(struct gpt_agent_torch_memory_state), gpt_add_torch_memory_state},
	ROW(STEP) = {sizeof(struct gpt_agent_step), gpt_add_told_step},
	ROW(SCHEDULE) = {sizeof(struct gpt_agent_schedule), gpt_add_schedule},
};

/* Those that add events, and change no table that the parts of a long log share (builder_look). */
static bool adds_events(uint32_t type)
{
	switch (type) {
	case GPT_AGENT_API:
	case GPT_AGENT_KERNEL:
	case GPT_AGENT_MEMCPY:
	case GPT_AGENT_MEMSET:
	case GPT_AGENT_OVERHEAD:
	case GPT_AGENT_SYNC:
	case GPT_AGENT_EVENT:
	case GPT_AGENT_MEMORY:
	case GPT_AGENT_JIT:
	case GPT_AGENT_OP:
	case GPT_AGENT_TORCH_MEMORY:
		return true;
	default:
		return false;
	}
}

static void add_record(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	size_t kind = (size_t)record->type - GPT_AGENT_HELLO;

	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].add)
		return;
	if (!adds_events(record->type))
		builder_wait(builder);
	if (record->size < kinds[kind].size || !kinds[kind].add(builder, sender, record))
		builder_count_bad(builder);
}

bool gpt_add_batch(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct gpt_sender sender = {.time_ns = batch->time_ns, .foreign = record->flags & GPT_BATCH_FOREIGN};
	const struct gpt_record *inner;
	size_t at = 0;

	builder_see_time(builder, batch->time_ns);
	if (batch->bytes > record->size - sizeof(*batch))
		return false;
	if (record->flags & GPT_BATCH_MONOTONIC) {
		sender.clock = SOURCE_CLOCK_MONOTONIC;
		builder_note_clock_error(builder, batch->error_ns);
	}
	/* what the collector read from a buffer may stand behind an exec that came after */
	sender.program = sender.foreign ? builder_program_at(builder, batch->pid, batch->time_ns)
					: builder_program(builder, batch->pid);
	while (at < batch->bytes) {
		inner = record_at(batch->data, batch->bytes, &at);
		if (!inner)
			return false;
		add_record(builder, &sender, inner);
	}
	return true;
}
