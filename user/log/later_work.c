/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/later_work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

/* Where a record has the correlation id of its call; 0: it belongs to no call, or only describes one. */
static const uint8_t corr_at[GPT_AGENT_TYPES_END] = {
	[GPT_AGENT_KERNEL] = offsetof(struct gpt_agent_kernel, corr),
	[GPT_AGENT_MEMCPY] = offsetof(struct gpt_agent_memcpy, corr),
	[GPT_AGENT_MEMSET] = offsetof(struct gpt_agent_memset, corr),
	[GPT_AGENT_SYNC] = offsetof(struct gpt_agent_sync, corr),
	[GPT_AGENT_JIT] = offsetof(struct gpt_agent_jit, corr),
	[GPT_AGENT_MEMORY] = offsetof(struct gpt_agent_memory, corr),
};

void later_work_free(struct later_work *later)
{
	lookup_free(&later->calls);
}

void later_work_note(struct later_work *later, const struct gpt_record *record)
{
	const struct gpt_call *call = (const struct gpt_call *)record;

	if ((record->type != GPT_CALL && record->type != GPT_CALL_ARGS) || record->size < sizeof(*call))
		return;
	if (call->pid && call->corr)
		lookup_put(&later->calls, call->pid, call->corr, 0);
}

static bool is_later(const struct later_work *later, uint32_t pid, const struct gpt_record *record)
{
	size_t at = record->type < GPT_AGENT_TYPES_END ? corr_at[record->type] : 0;
	uint32_t corr;

	if (!at || record->size < at + sizeof(corr))
		return false;
	memcpy(&corr, (const uint8_t *)record + at, sizeof(corr));
	return corr && lookup_get(&later->calls, pid, corr);
}

const struct gpt_record *later_work_cut(const struct later_work *later, const struct gpt_record *record,
					struct gpt_record *room)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct gpt_agent_batch *rest = (struct gpt_agent_batch *)room;
	const struct gpt_record *inner;
	size_t at = 0, bytes = 0;

	if (record->type != GPT_AGENT_BATCH || record->size < sizeof(*batch) || !batch->pid || !later->calls.count)
		return record;
	memmove(rest, batch, sizeof(*batch));
	while ((inner = batch_next(batch, &at))) {
		uint32_t size = inner->size;

		if (is_later(later, batch->pid, inner))
			continue;
		memmove(rest->data + bytes, inner, size); /* `inner` may be overwritten by now */
		bytes += size;
	}
	rest->bytes = (uint32_t)bytes;
	rest->hdr.size = (uint32_t)(sizeof(*rest) + bytes);
	return &rest->hdr;
}
