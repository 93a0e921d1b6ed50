/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch of records from an agent, or from a buffer of another profiler.  The target writes all of it: hostile.  Its
 * kinds are rows of GPT_AGENT_RECORDS (agent.h).
 */
#include <gputrace/walk.h>

#include "input/gpt/gpt_records.h"

/* Known types by their number minus GPT_AGENT_HELLO; those not listed do not concern the model, or are newer. */
static const struct {
	size_t size; /* minimum size */
	bool adds_events;
	bool (*add)(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
} kinds[] = {
#define ROW(type, number, name, record, bytes, least, tail, takes) GPT_ROW_##takes(type - GPT_AGENT_HELLO, least, name)
	GPT_AGENT_RECORDS(ROW)
#undef ROW
};

static void add_record(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	size_t kind = (size_t)record->type - GPT_AGENT_HELLO;

	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].add)
		return;
	if (!kinds[kind].adds_events)
		builder_wait(builder);
	if (record->size < kinds[kind].size || !kinds[kind].add(builder, sender, record))
		builder_count_bad(builder, BAD_VALUE, 1);
}

bool gpt_add_agent_batch(struct builder *builder, const struct gpt_record *record)
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
	/* a batch from a foreign buffer may be logged after an exec that came later */
	sender.program = sender.foreign ? builder_process_image_at(builder, batch->pid, batch->time_ns)
					: builder_process_image(builder, batch->pid);
	while (at < batch->bytes) {
		inner = record_at(batch->data, batch->bytes, &at);
		if (!inner)
			return false;
		add_record(builder, &sender, inner);
	}
	return true;
}
