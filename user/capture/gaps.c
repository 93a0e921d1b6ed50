/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/gaps.h"

#include <gputrace/agent.h>
#include <gputrace/walk.h>

static void add_work(struct gaps *gaps, uint64_t gpu, uint64_t start_ns, uint64_t end_ns)
{
	size_t at = (size_t)(gpu * 0x9e3779b97f4a7c15ull >> 32) % GAPS_GPUS;

	if (end_ns < start_ns)
		return;
	if (gaps->last[at].gpu != gpu) {
		gaps->last[at].gpu = gpu;
		gaps->last[at].end_ns = end_ns;
		return;
	}
	if (start_ns > gaps->last[at].end_ns) {
		uint64_t gap_ns = start_ns - gaps->last[at].end_ns;

		if (gap_ns >= GAPS_LEAST_NS && gap_ns <= GAPS_MOST_NS)
			gaps->short_ns += gap_ns;
	}
	if (end_ns > gaps->last[at].end_ns)
		gaps->last[at].end_ns = end_ns;
}

void gaps_add(struct gaps *gaps, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	const struct gpt_record *inner;
	size_t at = 0;

	if (record->type != GPT_AGENT_BATCH || record->size < sizeof(*batch))
		return;
	while ((inner = batch_next(batch, &at))) {
		const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)inner;
		const struct gpt_agent_memcpy *copy = (const struct gpt_agent_memcpy *)inner;

		if (inner->type == GPT_AGENT_KERNEL && inner->size >= sizeof(*kernel))
			add_work(gaps, (uint64_t)batch->pid << 32 | kernel->device, kernel->start_wall_ns,
				 kernel->end_wall_ns);
		else if (inner->type == GPT_AGENT_MEMCPY && inner->size >= sizeof(*copy))
			add_work(gaps, (uint64_t)batch->pid << 32 | copy->device, copy->start_wall_ns,
				 copy->end_wall_ns);
	}
}
