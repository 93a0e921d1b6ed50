/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the records inside batches describe and refer to.  A description is kept as a batch that holds only that record.
 * Nothing in a batch is trusted: a target wrote it.
 */
#include "log/descriptions_internal.h"

#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

/* A batch, and one of its records. */
struct inner {
	struct descriptions *descriptions;
	const struct gpt_agent_batch *batch;
	const struct gpt_record *record;
};

static struct description *describe(const struct inner *inner, enum description_kind kind, uint64_t id)
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

static void refer(const struct inner *inner, enum description_kind kind, uint64_t id)
{
	descriptions_refer(inner->descriptions, inner->batch->pid, kind, id);
}

static uint64_t stream_id(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

static void refer_to_stream(const struct inner *inner, uint32_t device, uint32_t context, uint32_t stream)
{
	refer(inner, DESCRIPTION_DEVICE, device);
	refer(inner, DESCRIPTION_CONTEXT, context);
	refer(inner, DESCRIPTION_STREAM, stream_id(context, stream));
}

static void look_at_hello(const struct inner *inner)
{
	struct process_numbers *process = descriptions_process(inner->descriptions, inner->batch->pid);

	if (process)
		describe(inner, DESCRIPTION_HELLO, description_slot(process->hellos++));
}

static void look_at_sizes(const struct inner *inner)
{
	describe(inner, DESCRIPTION_SIZES, 0);
}

static void look_at_clock(const struct inner *inner)
{
	describe(inner, DESCRIPTION_AGENT_CLOCK, 0);
}

/* Totals, so that what a segment adds to them is known.  The totals of a foreign buffer are of that buffer alone. */
static void look_at_stats(const struct inner *inner)
{
	if (!(inner->batch->hdr.flags & GPT_BATCH_FOREIGN))
		describe(inner, DESCRIPTION_STATS, 0);
}

static void look_at_name(const struct inner *inner)
{
	describe(inner, DESCRIPTION_NAME, ((const struct gpt_agent_name *)inner->record)->id);
}

static void look_at_device(const struct inner *inner)
{
	describe(inner, DESCRIPTION_DEVICE, ((const struct gpt_agent_device *)inner->record)->id);
}

static void look_at_context(const struct inner *inner)
{
	const struct gpt_agent_context *context = (const struct gpt_agent_context *)inner->record;

	belongs_to(inner, describe(inner, DESCRIPTION_CONTEXT, context->context), DESCRIPTION_DEVICE, context->device);
}

static void look_at_stream(const struct inner *inner)
{
	const struct gpt_agent_stream *stream = (const struct gpt_agent_stream *)inner->record;

	belongs_to(inner, describe(inner, DESCRIPTION_STREAM, stream_id(stream->context, stream->stream)),
		   DESCRIPTION_CONTEXT, stream->context);
}

static void look_at_kernel(const struct inner *inner)
{
	const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)inner->record;

	refer_to_stream(inner, kernel->device, kernel->context, kernel->stream);
	if (kernel->name)
		refer(inner, DESCRIPTION_NAME, kernel->name);
}

static void look_at_memcpy(const struct inner *inner)
{
	const struct gpt_agent_memcpy *copy = (const struct gpt_agent_memcpy *)inner->record;

	refer_to_stream(inner, copy->device, copy->context, copy->stream);
	refer(inner, DESCRIPTION_DEVICE, copy->from_device);
	refer(inner, DESCRIPTION_DEVICE, copy->to_device);
}

static void look_at_memset(const struct inner *inner)
{
	const struct gpt_agent_memset *set = (const struct gpt_agent_memset *)inner->record;

	refer_to_stream(inner, set->device, set->context, set->stream);
}

static void look_at_sync(const struct inner *inner)
{
	const struct gpt_agent_sync *sync = (const struct gpt_agent_sync *)inner->record;

	refer(inner, DESCRIPTION_CONTEXT, sync->context);
	if (sync->stream != UINT32_MAX)
		refer(inner, DESCRIPTION_STREAM, stream_id(sync->context, sync->stream));
}

static void look_at_event(const struct inner *inner)
{
	const struct gpt_agent_event *event = (const struct gpt_agent_event *)inner->record;

	refer(inner, DESCRIPTION_CONTEXT, event->context);
	refer(inner, DESCRIPTION_STREAM, stream_id(event->context, event->stream));
}

static void look_at_memory(const struct inner *inner)
{
	const struct gpt_agent_memory *memory = (const struct gpt_agent_memory *)inner->record;

	refer_to_stream(inner, memory->device, memory->context, memory->stream);
}

static void look_at_jit(const struct inner *inner)
{
	const struct gpt_agent_jit *jit = (const struct gpt_agent_jit *)inner->record;

	refer(inner, DESCRIPTION_DEVICE, jit->device);
	if (jit->tid)
		refer(inner, DESCRIPTION_OWN_TID, jit->tid);
}

static void look_at_overhead(const struct inner *inner)
{
	const struct gpt_agent_overhead *overhead = (const struct gpt_agent_overhead *)inner->record;

	if (overhead->tid)
		refer(inner, DESCRIPTION_OWN_TID, overhead->tid);
}

static void look_at_range(const struct inner *inner)
{
	refer(inner, DESCRIPTION_OWN_TID, ((const struct gpt_agent_range *)inner->record)->tid);
}

static void look_at_op(const struct inner *inner)
{
	const struct gpt_agent_op *op = (const struct gpt_agent_op *)inner->record;

	refer(inner, DESCRIPTION_OWN_TID, op->tid);
	refer(inner, DESCRIPTION_NAME, op->name);
}

static void look_at_ops(const struct inner *inner)
{
	describe(inner, DESCRIPTION_OPS, 0);
}

static void look_at_torch_memory(const struct inner *inner)
{
	refer(inner, DESCRIPTION_OWN_TID, ((const struct gpt_agent_torch_memory *)inner->record)->tid);
}

static void look_at_torch_memory_state(const struct inner *inner)
{
	describe(inner, DESCRIPTION_OPS, 1);
}

static void look_at_step(const struct inner *inner)
{
	refer(inner, DESCRIPTION_OWN_TID, ((const struct gpt_agent_step *)inner->record)->tid);
}

static void look_at_schedule(const struct inner *inner)
{
	describe(inner, DESCRIPTION_OPS, 2);
}

static void look_at_api_activity(const struct inner *inner)
{
	uint32_t thread = ((const struct gpt_agent_api_activity *)inner->record)->thread;

	refer(inner, DESCRIPTION_OWN_TID, thread);
	refer(inner, DESCRIPTION_POINTER, thread);
}

static const struct {
	void (*look)(const struct inner *inner);
	size_t least; /* bytes that it reads; what is shorter is damaged and describes nothing */
} looks[GPT_AGENT_TYPES_END - GPT_AGENT_HELLO] = {
#define LOOK(type, name) [GPT_AGENT_##type - GPT_AGENT_HELLO] = {look_at_##name, sizeof(struct gpt_agent_##name)}
	LOOK(HELLO, hello),
	LOOK(NAME, name),
	LOOK(KERNEL, kernel),
	LOOK(MEMCPY, memcpy),
	LOOK(MEMSET, memset),
	LOOK(OVERHEAD, overhead),
	LOOK(DEVICE, device),
	LOOK(CONTEXT, context),
	LOOK(STREAM, stream),
	LOOK(CLOCK, clock),
	LOOK(SYNC, sync),
	LOOK(EVENT, event),
	LOOK(MEMORY, memory),
	LOOK(API_ACTIVITY, api_activity),
	LOOK(SIZES, sizes),
	LOOK(RANGE, range),
	LOOK(JIT, jit),
	LOOK(OP, op),
	LOOK(OPS, ops),
	LOOK(TORCH_MEMORY, torch_memory),
	LOOK(TORCH_MEMORY_STATE, torch_memory_state),
	LOOK(STEP, step),
	LOOK(SCHEDULE, schedule),
	[GPT_AGENT_STATS - GPT_AGENT_HELLO] = {look_at_stats, sizeof(struct gpt_record)},
#undef LOOK
};

void descriptions_look_at_batch(struct descriptions *descriptions, const struct gpt_record *record)
{
	struct inner inner = {.descriptions = descriptions, .batch = (const struct gpt_agent_batch *)record};
	size_t at = 0;

	descriptions_process(descriptions, inner.batch->pid);
	while ((inner.record = batch_next(inner.batch, &at))) {
		uint32_t row = (uint32_t)inner.record->type - GPT_AGENT_HELLO;

		if (row < sizeof(looks) / sizeof(looks[0]) && looks[row].look && inner.record->size >= looks[row].least)
			looks[row].look(&inner);
	}
}
