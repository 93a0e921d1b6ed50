/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of a log, by kind: each function takes one apart and passes its contents on to the builder.  The caller
 * has checked that the record has its fixed part; false: the record is malformed.
 */
#ifndef GPUTRACE_INPUT_GPT_RECORDS_H
#define GPUTRACE_INPUT_GPT_RECORDS_H

#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#include "model/builder.h"

/* The process that a batch is about. */
struct gpt_sender {
	struct process_image program;
	uint64_t time_ns; /* when the batch was copied */
	enum source_clock clock;
	bool foreign; /* not from an agent: from a buffer of another profiler */
};

/*
 * gpt_add_NAME takes a record that logs call NAME, if the model takes it (GPT_RECORDS, GPT_AGENT_RECORDS).
 * gpt_session.c: the recording; gpt_processes.c: processes and threads; gpt_calls.c, gpt_nccl.c: calls and their
 * stacks; gpt_threads.c: what threads ran, and where they waited; gpt_python.c: code objects, and what goes on inside
 * the interpreter; gpt_batch.c: a batch of an agent's records; gpt_agent.c: what an agent says of itself and of calls;
 * gpt_ops.c: ops of PyTorch; gpt_gpu.c: CUPTI's records of GPU work, memory and synchronisation; gpt_devices.c:
 * devices, contexts, streams.
 */
#define GPT_ADD_NOTHING(...)
#define GPT_ADD_TABLE(name, ...)                                                                                       \
	bool gpt_add_##name(struct builder *builder, __VA_ARGS__ const struct gpt_record *record);
#define GPT_ADD_EVENT GPT_ADD_TABLE
#define GPT_ADD(type, number, name, record, bytes, least, tail, takes) GPT_ADD_##takes(name, )
#define GPT_ADD_IN_BATCH(type, number, name, record, bytes, least, tail, takes)                                        \
	GPT_ADD_##takes(name, const struct gpt_sender *sender, )
GPT_RECORDS(GPT_ADD)
GPT_AGENT_RECORDS(GPT_ADD_IN_BATCH)

/* Rows of tables of these functions, by type: the least size, whether the record is an event, the function. */
#define GPT_ROW_NOTHING(...)
#define GPT_ROW_TABLE(index, least, name) [index] = {least, false, gpt_add_##name},
#define GPT_ROW_EVENT(index, least, name) [index] = {least, true, gpt_add_##name},

/* ---- text and numbers ------------------------------------------------------------------------------------------- */

/* Text up to its NUL, or to its end. */
static inline struct text gpt_text(const char *bytes, size_t size)
{
	return (struct text){.bytes = bytes, .size = strnlen(bytes, size)};
}

/* Fields of "a\0b\0c\0": the next one, "" when there are no more.  *at starts at 0. */
static inline struct text gpt_field(const char *bytes, size_t size, size_t *at)
{
	struct text field = gpt_text(bytes + *at, size - *at);

	*at += field.size;
	if (*at < size)
		(*at)++;
	return field;
}

/* enum gpt_stack_state, with one of the known values. */
static inline uint8_t gpt_stack_state(uint8_t state)
{
	return state < GPT_STACK_STATES ? state : GPT_STACK_UNREADABLE;
}

/* Numbers that are small on every GPU; clamped in case a target makes them up. */
static inline uint8_t gpt_small(uint32_t value)
{
	return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static inline int8_t gpt_priority(uint32_t value)
{
	int32_t priority = (int32_t)value;

	return (int8_t)(priority < INT8_MIN ? INT8_MIN : priority > INT8_MAX ? INT8_MAX : priority);
}

#endif
