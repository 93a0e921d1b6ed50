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

/* gpt_session.c: the recording */
bool gpt_add_session(struct builder *builder, const struct gpt_record *record);
bool gpt_add_text(struct builder *builder, const struct gpt_record *record);
bool gpt_add_clock(struct builder *builder, const struct gpt_record *record);
bool gpt_add_end(struct builder *builder, const struct gpt_record *record);

/* gpt_processes.c */
bool gpt_add_thread(struct builder *builder, const struct gpt_record *record);
bool gpt_add_fork(struct builder *builder, const struct gpt_record *record);
bool gpt_add_exec(struct builder *builder, const struct gpt_record *record);
bool gpt_add_exit(struct builder *builder, const struct gpt_record *record);
bool gpt_add_process(struct builder *builder, const struct gpt_record *record);
bool gpt_add_cupti_use(struct builder *builder, const struct gpt_record *record);

/* gpt_calls.c: calls and their stacks */
bool gpt_add_call(struct builder *builder, const struct gpt_record *record);
bool gpt_add_nccl(struct builder *builder, const struct gpt_record *record);
bool gpt_add_stack_at(struct builder *builder, const struct gpt_record *record);
bool gpt_add_pystack(struct builder *builder, const struct gpt_record *record);
bool gpt_add_native_stack(struct builder *builder, const struct gpt_record *record);
bool gpt_add_native_sym(struct builder *builder, const struct gpt_record *record);

/* gpt_threads.c: what threads ran, and where they waited */
bool gpt_add_sample(struct builder *builder, const struct gpt_record *record);
bool gpt_add_wait(struct builder *builder, const struct gpt_record *record);

/* gpt_python.c: code objects, and what goes on inside the interpreter */
bool gpt_add_code(struct builder *builder, const struct gpt_record *record);
bool gpt_add_code_lines(struct builder *builder, const struct gpt_record *record);
bool gpt_add_generated(struct builder *builder, const struct gpt_record *record);
bool gpt_add_source(struct builder *builder, const struct gpt_record *record);
bool gpt_add_code_dead(struct builder *builder, const struct gpt_record *record);
bool gpt_add_pyevent(struct builder *builder, const struct gpt_record *record);
bool gpt_add_pycall(struct builder *builder, const struct gpt_record *record);

/* gpt_batch.c: a batch of an agent's records */
bool gpt_add_batch(struct builder *builder, const struct gpt_record *record);

/* The process that a batch is about. */
struct gpt_sender {
	struct process_image program;
	uint64_t time_ns; /* when the batch was copied */
	enum source_clock clock;
	bool foreign; /* not from an agent: from a buffer of another profiler */
};

/*
 * Records in a batch: a row for each, and a function that takes it apart.
 *	X(TYPE, name, least, adds): gpt_add_NAME takes GPT_AGENT_TYPE of at least `least` bytes; adds: EVENTS if it
 * changes no table that the parts of a long log share (builder_look), else TABLES
 */
#define GPT_ADDS_EVENTS true
#define GPT_ADDS_TABLES false
#define GPT_AGENT_RECORDS(X)                                                                                           \
	/* gpt_agent.c: what an agent says of itself and of calls */                                                   \
	X(HELLO, hello, sizeof(struct gpt_agent_hello), TABLES)                                                        \
	X(API, return, sizeof(struct gpt_agent_api), EVENTS)                                                           \
	X(API_ACTIVITY, api_activity, sizeof(struct gpt_agent_api_activity), TABLES)                                   \
	X(CLOCK, agent_clock, sizeof(struct gpt_agent_clock), TABLES)                                                  \
	X(STATS, stats, GPT_AGENT_STATS_FIRST, TABLES)                                                                 \
	X(RANGE, range, sizeof(struct gpt_agent_range), TABLES)                                                        \
	/* gpt_ops.c: ops of PyTorch */                                                                                \
	X(OP, op, offsetof(struct gpt_agent_op, stack), EVENTS)                                                        \
	X(OPS, ops, sizeof(struct gpt_agent_ops), TABLES)                                                              \
	X(TORCH_MEMORY, torch_memory, sizeof(struct gpt_agent_torch_memory), EVENTS)                                   \
	X(TORCH_MEMORY_STATE, torch_memory_state, sizeof(struct gpt_agent_torch_memory_state), TABLES)                 \
	X(STEP, reported_step, sizeof(struct gpt_agent_step), TABLES)                                                  \
	X(SCHEDULE, schedule, sizeof(struct gpt_agent_schedule), TABLES)                                               \
	/* gpt_gpu.c: CUPTI's records of GPU work, memory and synchronisation */                                       \
	X(NAME, name, sizeof(struct gpt_agent_name), TABLES)                                                           \
	X(KERNEL, kernel, sizeof(struct gpt_agent_kernel), EVENTS)                                                     \
	X(MEMCPY, memcpy, sizeof(struct gpt_agent_memcpy), EVENTS)                                                     \
	X(MEMSET, memset, sizeof(struct gpt_agent_memset), EVENTS)                                                     \
	X(OVERHEAD, overhead, sizeof(struct gpt_agent_overhead), EVENTS)                                               \
	X(JIT, jit, sizeof(struct gpt_agent_jit), EVENTS)                                                              \
	X(SYNC, sync, sizeof(struct gpt_agent_sync), EVENTS)                                                           \
	X(EVENT, event, sizeof(struct gpt_agent_event), EVENTS)                                                        \
	X(MEMORY, memory, sizeof(struct gpt_agent_memory), EVENTS)                                                     \
	X(GRAPH_NODE, graph_node, sizeof(struct gpt_agent_graph_node), TABLES)                                         \
	/* gpt_devices.c: devices, contexts, streams */                                                                \
	X(DEVICE, device, sizeof(struct gpt_agent_device), TABLES)                                                     \
	X(CONTEXT, context, sizeof(struct gpt_agent_context), TABLES)                                                  \
	X(STREAM, stream, sizeof(struct gpt_agent_stream), TABLES)

#define GPT_ADD(type, name, ...)                                                                                       \
	bool gpt_add_##name(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
GPT_AGENT_RECORDS(GPT_ADD)
#undef GPT_ADD

/* ---- text and numbers ----------------------------------------------------------------------------------------------
 */

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
