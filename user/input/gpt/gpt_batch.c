/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A batch of records from an agent, or from a buffer of another profiler.  The target writes all of it: hostile.  Its
 * kinds are rows of GPT_AGENT_RECORDS (agent.h).
 */
#include <gputrace/walk.h>

#include "input/gpt/gpt_records.h"

/* Types not listed do not concern the model, or are newer. */
GPT_AGENT_RECORDS(GPT_PASS)
static const struct gpt_kind kinds[GPT_AGENT_TYPES_END] = {GPT_AGENT_RECORDS(GPT_KIND)};

bool gpt_add_agent_batch(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct sender sender = {.time_ns = batch->time_ns, .foreign = record->flags & GPT_BATCH_FOREIGN};
	const struct gpt_record *inner;
	size_t at = 0;

	(void)none;
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
		if (inner->type < GPT_AGENT_TYPES_END && kinds[inner->type].add)
			gpt_add_known(builder, &kinds[inner->type], &sender, inner);
	}
	return true;
}
