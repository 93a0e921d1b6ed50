/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of a log, by kind: each function takes one apart and tells the builder what it says.  The caller has
 * checked that the record is as long as its fixed part; false: it does not make sense.
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

/* Whom a batch is about. */
struct gpt_sender {
	struct program program;
	uint64_t time_ns; /* when the batch was copied */
	enum source_clock clock;
	bool foreign; /* not an agent's: from a buffer of another profiler */
};

/* gpt_agent.c: what an agent says of itself and of calls */
bool gpt_add_hello(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_return(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_api_activity(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_agent_clock(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_stats(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_range(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);

/* gpt_ops.c: ops of PyTorch */
bool gpt_add_op(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_ops(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_torch_memory(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_told_step(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_schedule(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_torch_memory_state(struct builder *builder, const struct gpt_sender *sender,
				const struct gpt_record *record);

/* gpt_gpu.c: CUPTI's records of GPU work, memory and synchronisation */
bool gpt_add_name(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_kernel(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_memcpy(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_memset(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_overhead(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_jit(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_sync(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_event(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_memory(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_graph_node(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);

/* gpt_devices.c: devices, contexts, streams */
bool gpt_add_device(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_context(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);
bool gpt_add_stream(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record);

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

/* Numbers that are small on every GPU, the largest that fits where a target makes them up. */
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
