/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the records inside batches describe.  A description is kept as a batch that holds only that record.
 * Nothing in a batch is trusted: a target wrote it.
 */
#include "log/descriptions_state.h"

#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

/* A batch, and one of its records. */
struct inner {
	struct descriptions *descriptions;
	const struct gpt_agent_batch *batch;
	const struct gpt_record *record;
};

static struct description *describe_inner(const struct inner *inner, enum description_kind kind, uint64_t id)
{
	struct descriptions *descriptions = inner->descriptions;
	struct process_numbers *process = descriptions_process(descriptions, inner->batch->pid);
	uint32_t size = inner->record->size;
	_Alignas(8) uint8_t bytes[sizeof(struct gpt_agent_batch) + GPT_AGENT_BATCH_MAX];
	struct gpt_agent_batch batch = *inner->batch;

	if (!process || size > GPT_AGENT_BATCH_MAX)
		return NULL;
	batch.bytes = size;
	batch.hdr.size = (uint32_t)sizeof(batch) + size;
	memcpy(bytes, &batch, sizeof(batch));
	memcpy(bytes + sizeof(batch), inner->record, size);
	return description_make(&descriptions->store, process->space, kind, id, bytes, batch.hdr.size);
}

/* Adds a reference from `made` to the description that it is part of. */
static void belongs_to(const struct inner *inner, struct description *made, enum description_kind kind, uint64_t id)
{
	struct description_store *store = &inner->descriptions->store;
	struct description *whole;

	if (!made)
		return;
	whole = description_find(store, made->space, kind, id);
	description_refer(store, made, 1);
	description_set_reference(made, 0, whole);
	description_need(store, whole);
}

static uint64_t stream_id(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

static void look_at_hello(const struct inner *inner)
{
	struct process_numbers *process = descriptions_process(inner->descriptions, inner->batch->pid);

	if (process)
		describe_inner(inner, DESCRIPTION_HELLO, description_slot(process->hellos++));
}

/* Totals, so that what a segment adds to them is known.  The totals of a foreign buffer are of that buffer alone. */
static void look_at_stats(const struct inner *inner)
{
	if (!(inner->batch->hdr.flags & GPT_BATCH_FOREIGN))
		describe_inner(inner, DESCRIPTION_STATS, 0);
}

static void look_at_context(const struct inner *inner)
{
	const struct gpt_agent_context *context = (const struct gpt_agent_context *)inner->record;

	belongs_to(inner, describe_inner(inner, DESCRIPTION_CONTEXT, context->context), DESCRIPTION_DEVICE,
		   context->device);
}

static void look_at_stream(const struct inner *inner)
{
	const struct gpt_agent_stream *stream = (const struct gpt_agent_stream *)inner->record;

	belongs_to(inner, describe_inner(inner, DESCRIPTION_STREAM, stream_id(stream->context, stream->stream)),
		   DESCRIPTION_CONTEXT, stream->context);
}

/* What the record describes, if anything. */
static void look_at_record(const struct inner *inner)
{
	switch (inner->record->type) {
	case GPT_AGENT_HELLO:
		look_at_hello(inner);
		break;
	case GPT_AGENT_SIZES:
		describe_inner(inner, DESCRIPTION_SIZES, 0);
		break;
	case GPT_AGENT_CLOCK:
		describe_inner(inner, DESCRIPTION_AGENT_CLOCK, 0);
		break;
	case GPT_AGENT_STATS:
		look_at_stats(inner);
		break;
	case GPT_AGENT_NAME:
		describe_inner(inner, DESCRIPTION_NAME, ((const struct gpt_agent_name *)inner->record)->id);
		break;
	case GPT_AGENT_DEVICE:
		describe_inner(inner, DESCRIPTION_DEVICE, ((const struct gpt_agent_device *)inner->record)->id);
		break;
	case GPT_AGENT_CONTEXT:
		look_at_context(inner);
		break;
	case GPT_AGENT_STREAM:
		look_at_stream(inner);
		break;
	case GPT_AGENT_OPS:
		describe_inner(inner, DESCRIPTION_OPS, 0);
		break;
	case GPT_AGENT_TORCH_MEMORY_STATE:
		describe_inner(inner, DESCRIPTION_OPS, 1);
		break;
	case GPT_AGENT_SCHEDULE:
		describe_inner(inner, DESCRIPTION_OPS, 2);
		break;
	}
}

/* The bytes of the shortest record of a type; UINT32_MAX: an unknown type. */
static uint32_t least_of(uint16_t type)
{
	static const uint32_t sizes[] = {
#define LEAST(type, number, name, record, bytes, least, ...) [type] = (least),
		GPT_AGENT_RECORDS(LEAST)
#undef LEAST
	};

	return type < sizeof(sizes) / sizeof(sizes[0]) && sizes[type] ? sizes[type] : UINT32_MAX;
}

void descriptions_look_at_batch(struct descriptions *descriptions, const struct gpt_record *record)
{
	struct inner inner = {.descriptions = descriptions, .batch = (const struct gpt_agent_batch *)record};
	size_t at = 0;

	descriptions_process(descriptions, inner.batch->pid);
	while ((inner.record = batch_next(inner.batch, &at))) {
		if (inner.record->size < least_of(inner.record->type)) /* damaged: describes nothing */
			continue;
		descriptions_note_references(descriptions, inner.record, inner.batch->pid);
		look_at_record(&inner);
	}
}
