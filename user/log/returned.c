/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hashes of records that describe something, and of such records in batches, with their process. */
#include "log/returned.h"

#include <gputrace/agent.h>
#include <gputrace/walk.h>

#define ANY_SPACE 1u

void returned_open(struct returned *returned)
{
	lookup_init(&returned->hashes, hash_seed());
}

void returned_close(struct returned *returned)
{
	lookup_free(&returned->hashes);
}

void returned_forget(struct returned *returned)
{
	lookup_empty(&returned->hashes);
}

/* The types that segments repeat (descriptions.c, descriptions_agent.c). One that is missing here is returned again. */
static bool is_description(uint16_t type)
{
	switch (type) {
	case GPT_PYSTACK:
	case GPT_CODE:
	case GPT_CODE_LINES:
	case GPT_CODE_DEAD:
	case GPT_NATIVE_STACK:
	case GPT_NATIVE_SYM:
	case GPT_THREAD:
	case GPT_FORK:
	case GPT_EXEC:
	case GPT_CUPTI_USE:
	case GPT_SESSION:
	case GPT_PROCESS:
	case GPT_CLOCK:
	case GPT_AGENT_HELLO:
	case GPT_AGENT_SIZES:
	case GPT_AGENT_CLOCK:
	case GPT_AGENT_STATS:
	case GPT_AGENT_NAME:
	case GPT_AGENT_DEVICE:
	case GPT_AGENT_CONTEXT:
	case GPT_AGENT_STREAM:
	case GPT_AGENT_OPS:
	case GPT_AGENT_TORCH_MEMORY_STATE:
	case GPT_AGENT_SCHEDULE:
		return true;
	default:
		return false;
	}
}

static bool insert_record(struct returned *returned, const struct gpt_record *record, uint32_t pid)
{
	uint64_t hash = hash_bytes(returned->hashes.seed + pid, record, record->size);
	size_t before = returned->hashes.count;

	lookup_put(&returned->hashes, ANY_SPACE, hash, 0);
	return returned->hashes.count != before;
}

bool returned_note(struct returned *returned, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	const struct gpt_record *inner;
	bool is_new = false;
	size_t at = 0;

	if (record->type != GPT_AGENT_BATCH)
		return !is_description(record->type) || insert_record(returned, record, 0);
	if (record->size < sizeof(*batch))
		return true;
	while ((inner = batch_next(batch, &at)))
		is_new |= !is_description(inner->type) || insert_record(returned, inner, batch->pid);
	return is_new;
}
