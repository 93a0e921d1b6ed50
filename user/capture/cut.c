/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time of each type of record; see cut.h. */
#include "capture/cut.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

/* The offset of an event's start time, CLOCK_MONOTONIC; 0: the record is no event. */
static const uint8_t time_at[GPT_AGENT_TYPES_END] = {
	[GPT_CALL] = offsetof(struct gpt_call, time_ns),
	[GPT_CALL_ARGS] = offsetof(struct gpt_call_args, call.time_ns),
	[GPT_PYEVENT] = offsetof(struct gpt_pyevent, time_ns),
	[GPT_PYCALL] = offsetof(struct gpt_pycall, time_ns),
	[GPT_STACK_AT] = offsetof(struct gpt_stack_at, time_ns),
	[GPT_SAMPLE] = offsetof(struct gpt_sample, time_ns),
	[GPT_WAIT] = offsetof(struct gpt_wait, time_ns),
	[GPT_AWAIT] = offsetof(struct gpt_await, time_ns),
	[GPT_GPU_SAMPLE] = offsetof(struct gpt_gpu_sample, time_ns),
	[GPT_GPU_PROCESS] = offsetof(struct gpt_gpu_process, time_ns),
	[GPT_GPU_ERROR] = offsetof(struct gpt_gpu_error, time_ns),
	[GPT_NCCL] = offsetof(struct gpt_nccl, time_ns),
	[GPT_AGENT_API] = offsetof(struct gpt_agent_api, start_ns),
	[GPT_AGENT_RANGE] = offsetof(struct gpt_agent_range, time_ns),
	[GPT_AGENT_OP] = offsetof(struct gpt_agent_op, start_ns),
	[GPT_AGENT_TORCH_MEMORY] = offsetof(struct gpt_agent_torch_memory, time_ns),
	[GPT_AGENT_STEP] = offsetof(struct gpt_agent_step, time_ns),
};

static bool belongs_to_trace(const struct gpt_record *record, uint64_t end_ns)
{
	size_t at = record->type < GPT_AGENT_TYPES_END ? time_at[record->type] : 0;
	uint64_t time_ns;

	if (!at || record->size < at + sizeof(time_ns))
		return true;
	/* It may have the correlation id of a call that was recorded.  If that is sure, it has that call's time, too.
	 */
	if (record->type == GPT_CALL && record->flags & GPT_CALL_NESTED_IN_SYMBOL &&
	    !(record->flags & GPT_CALL_SURELY_NESTED))
		return true;
	memcpy(&time_ns, (const uint8_t *)record + at, sizeof(time_ns));
	return time_ns < end_ns;
}

/* An op that ends after the recording was still open at its end. */
static void cut_op(struct gpt_agent_op *op, uint64_t end_ns)
{
	if (op->hdr.size < offsetof(struct gpt_agent_op, stack) || op->end_ns <= end_ns)
		return;
	op->end_ns = end_ns;
	op->flags |= GPT_AGENT_OP_OPEN;
}

static bool is_the_schedule(const struct gpt_agent_schedule *record, const struct gpt_schedule *asked)
{
	return record->hdr.size >= sizeof(*record) && record->windows_ms == asked->windows_ms &&
	       record->skip_first == asked->skip_first && record->wait == asked->wait &&
	       record->warmup == asked->warmup && record->active == asked->active && record->repeat == asked->repeat &&
	       record->skip_first_wait == asked->skip_first_wait && record->by == asked->by;
}

static bool was_asked_for(const struct gpt_record *record, const struct agent_request *asked)
{
	switch (record->type) {
	case GPT_AGENT_SCHEDULE:
		return asked->schedule.active &&
		       is_the_schedule((const struct gpt_agent_schedule *)record, &asked->schedule);
	case GPT_AGENT_STEP:
		return asked->schedule.active != 0;
	case GPT_AGENT_OP:
	case GPT_AGENT_OPS:
		return asked->ops;
	case GPT_AGENT_TORCH_MEMORY:
	case GPT_AGENT_TORCH_MEMORY_STATE:
		return asked->torch_memory;
	default:
		return true;
	}
}

static const struct gpt_record *cut_batch(const struct gpt_agent_batch *batch, uint64_t end_ns,
					  struct gpt_agent_batch *room)
{
	const struct gpt_record *inner;
	size_t at = 0, bytes = 0;

	*room = *batch;
	while ((inner = batch_next(batch, &at))) {
		struct gpt_record *copy = (struct gpt_record *)(room->data + bytes);

		if (!belongs_to_trace(inner, end_ns))
			continue;
		memmove(copy, inner, inner->size);
		if (copy->type == GPT_AGENT_OP)
			cut_op((struct gpt_agent_op *)copy, end_ns);
		bytes += copy->size; /* `inner` may be overwritten by now */
	}
	room->bytes = (uint32_t)bytes;
	room->hdr.size = (uint32_t)(sizeof(*room) + bytes);
	return &room->hdr;
}

/* A wait that ends after the recording is cut at its end and marked as open. */
static const struct gpt_record *cut_wait(const struct gpt_wait *wait, uint64_t end_ns, struct gpt_wait *room)
{
	if (wait->end_ns <= end_ns)
		return &wait->hdr;
	memcpy(room, wait, sizeof(*room));
	room->hdr.size = sizeof(*room);
	room->hdr.flags |= GPT_WAIT_OPEN;
	room->end_ns = end_ns;
	if (room->woken_ns > end_ns)
		room->woken_ns = 0;
	return &room->hdr;
}

const struct gpt_record *cut_at(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;

	if (record->type == GPT_AGENT_BATCH && record->size >= sizeof(*batch) && batch->time_ns >= end_ns)
		return cut_batch(batch, end_ns, (struct gpt_agent_batch *)room);
	if (!belongs_to_trace(record, end_ns))
		return NULL;
	if (record->type == GPT_WAIT && record->size >= sizeof(struct gpt_wait))
		return cut_wait((const struct gpt_wait *)record, end_ns, (struct gpt_wait *)room);
	return record;
}

/* The offset of the time at which an event is over, by which it may be left out before the start; 0: it stays. */
static const uint8_t over_at[GPT_AGENT_TYPES_END] = {
	[GPT_CALL] = offsetof(struct gpt_call, time_ns),
	[GPT_CALL_ARGS] = offsetof(struct gpt_call_args, call.time_ns),
	[GPT_NCCL] = offsetof(struct gpt_nccl, time_ns), /* that of its call */
	[GPT_SAMPLE] = offsetof(struct gpt_sample, time_ns),
	[GPT_WAIT] = offsetof(struct gpt_wait, end_ns),
};

/* In a batch, which an agent sends when they are over. */
static bool is_over_in_batch(uint16_t type)
{
	switch (type) {
	case GPT_AGENT_API:
	case GPT_AGENT_KERNEL:
	case GPT_AGENT_MEMCPY:
	case GPT_AGENT_MEMSET:
	case GPT_AGENT_OVERHEAD:
	case GPT_AGENT_SYNC:
	case GPT_AGENT_OP:
		return true;
	default:
		return false;
	}
}

static const struct gpt_record *cut_batch_before(const struct gpt_agent_batch *batch, struct gpt_agent_batch *room)
{
	const struct gpt_record *inner;
	size_t at = 0, bytes = 0;

	memmove(room, batch, sizeof(*batch));
	while ((inner = batch_next(batch, &at))) {
		uint32_t size = inner->size;

		if (is_over_in_batch(inner->type))
			continue;
		memmove(room->data + bytes, inner, size); /* `inner` may be overwritten by now */
		bytes += size;
	}
	room->bytes = (uint32_t)bytes;
	room->hdr.size = (uint32_t)(sizeof(*room) + bytes);
	return &room->hdr;
}

const struct gpt_record *cut_before(const struct gpt_record *record, uint64_t before_ns, struct gpt_record *room,
				    uint64_t *left_out)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	size_t at = record->type < GPT_AGENT_TYPES_END ? over_at[record->type] : 0;
	uint64_t time_ns;

	if (record->type == GPT_AGENT_BATCH)
		return record->size >= sizeof(*batch) && batch->time_ns < before_ns
			       ? cut_batch_before(batch, (struct gpt_agent_batch *)room)
			       : record;
	if (!at || record->size < at + sizeof(time_ns))
		return record;
	memcpy(&time_ns, (const uint8_t *)record + at, sizeof(time_ns));
	if (time_ns >= before_ns)
		return record;
	*left_out += record->type == GPT_CALL || record->type == GPT_CALL_ARGS;
	return NULL;
}

const struct gpt_record *cut_unasked(const struct gpt_record *record, const struct agent_request *asked,
				     struct gpt_record *room, bool *malformed)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct gpt_agent_batch *copy = (struct gpt_agent_batch *)room;
	const struct gpt_record *inner;
	size_t at = 0, bytes = 0;
	bool all = true;

	*malformed = false;
	if (record->type != GPT_AGENT_BATCH)
		return record;
	*malformed = record->size < sizeof(*batch);
	if (*malformed)
		return NULL;
	while ((inner = batch_next(batch, &at)))
		all &= was_asked_for(inner, asked);
	*malformed = at != batch->bytes;
	if (all && at == record->size - sizeof(*batch) && !*malformed)
		return record;
	*copy = *batch;
	for (at = 0; (inner = batch_next(batch, &at));) {
		if (!was_asked_for(inner, asked))
			continue;
		memcpy(copy->data + bytes, inner, inner->size);
		bytes += inner->size;
	}
	copy->bytes = (uint32_t)bytes;
	copy->hdr.size = (uint32_t)(sizeof(*copy) + bytes);
	return &copy->hdr;
}
