/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes logs (.gpt) in memory for tests, fuzzing and benches. The caller gives the record's fields; sizes, types and
 * padding are filled in here. A log made after log_begin() becomes a file by gputrace's own writer.
 *
 *	struct log_builder log;
 *	log_begin(&log, 1000, 0);
 *	log_function(&log, 7, 0xc0de, "train", "/src/train.py", 10);
 *	log_stack(&log, 7, 1, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 6}});   (executes line 13)
 *	log_launch(&log, 7, 7, 2000, 1, 55);
 *	log_batch(&log, 7, 8, 9000);
 *	log_agent_name(&log, 1, "_Z4gemmPf");
 *	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 3000, .end_wall_ns = 4000, .corr = 55,
 *	                                                  .name = 1});
 *	log_end(&log, 10000); fd = log_fd(&log); log_free(&log);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>
#include <gputrace/record.h>

#include "log/writer.h"

#define LOG_FN __attribute__((unused)) static

struct log_builder {
	uint8_t *data; /* struct log_head, if begun; then records */
	size_t size, capacity;
	size_t batch; /* offset of the open GPT_AGENT_BATCH, 0: none */
	bool begun;
};

/* The values of the log's header. */
struct log_head {
	uint64_t start_ns;
	int64_t wall_offset_ns;
};

/* Appends bytes unchanged; also the way to write something wrong on purpose. */
LOG_FN void log_raw(struct log_builder *log, const void *bytes, size_t count)
{
	if (log->size + count > log->capacity) {
		log->capacity = (log->size + count) * 2 + 4096;
		log->data = realloc(log->data, log->capacity);
		if (!log->data)
			abort();
	}
	if (count)
		memcpy(log->data + log->size, bytes, count);
	log->size += count;
}

LOG_FN void log_pad(struct log_builder *log)
{
	static const uint8_t zeros[8];

	log_raw(log, zeros, -log->size & 7);
}

/* wall_offset_ns: CLOCK_REALTIME minus CLOCK_MONOTONIC; no GPT_CLOCK is written. */
LOG_FN void log_begin(struct log_builder *log, uint64_t start_ns, int64_t wall_offset_ns)
{
	struct log_head head = {.start_ns = start_ns, .wall_offset_ns = wall_offset_ns};

	memset(log, 0, sizeof(*log));
	log_raw(log, &head, sizeof(head));
	log->begun = true;
}

/* Ends the open batch, if any, and sets its sizes. */
LOG_FN void log_batch_end(struct log_builder *log)
{
	struct gpt_agent_batch batch;

	if (!log->batch)
		return;
	memcpy(&batch, log->data + log->batch, sizeof(batch));
	batch.bytes = log->size - log->batch - sizeof(batch);
	batch.hdr.size = log->size - log->batch;
	memcpy(log->data + log->batch, &batch, sizeof(batch));
	log->batch = 0;
}

/* Ends the open batch and begins one like it if `more` bytes would exceed the size of an agent's batch. */
LOG_FN void log_batch_split(struct log_builder *log, size_t more)
{
	struct gpt_agent_batch batch;

	if (!log->batch || log->size - log->batch - sizeof(batch) + more <= GPT_AGENT_BATCH_MAX)
		return;
	memcpy(&batch, log->data + log->batch, sizeof(batch));
	log_batch_end(log);
	batch.hdr.size = sizeof(batch);
	log->batch = log->size;
	log_raw(log, &batch, sizeof(batch));
}

/* One record: the fixed part (hdr.size and hdr.type are filled in), `extra` bytes, padding. */
LOG_FN void log_put(struct log_builder *log, uint16_t type, const void *fixed, size_t fixed_size, const void *extra,
		    size_t extra_size)
{
	struct gpt_record header;
	size_t at;

	if (type < GPT_AGENT_HELLO)
		log_batch_end(log);
	else
		log_batch_split(log, fixed_size + extra_size + 8);
	at = log->size;
	log_raw(log, fixed, fixed_size);
	log_raw(log, extra, extra_size);
	log_pad(log);
	memcpy(&header, log->data + at, sizeof(header));
	header.size = log->size - at;
	header.type = type;
	memcpy(log->data + at, &header, sizeof(header));
}

/* ---- records of fixed size: pass the fields, e.g. log_call(&log, (struct gpt_call){.pid = 7, ...}) ----------- */

#define LOG_FIXED(name, record, record_type)                                                                           \
	LOG_FN void name(struct log_builder *log, struct record value)                                                 \
	{                                                                                                              \
		log_put(log, record_type, &value, sizeof(value), NULL, 0);                                             \
	}

LOG_FIXED(log_call, gpt_call, GPT_CALL)
LOG_FIXED(log_call_args, gpt_call_args, GPT_CALL_ARGS)
LOG_FIXED(log_code_dead, gpt_code_dead, GPT_CODE_DEAD)
LOG_FIXED(log_thread_record, gpt_thread, GPT_THREAD)
LOG_FIXED(log_mapped, gpt_mapped, GPT_MAPPED)
LOG_FIXED(log_cupti_use, gpt_cupti_use, GPT_CUPTI_USE)
LOG_FIXED(log_stack_at, gpt_stack_at, GPT_STACK_AT)
LOG_FIXED(log_sample, gpt_sample, GPT_SAMPLE)
LOG_FIXED(log_wait, gpt_wait, GPT_WAIT)
LOG_FIXED(log_await, gpt_await, GPT_AWAIT)
LOG_FIXED(log_gpu_sample, gpt_gpu_sample, GPT_GPU_SAMPLE)
LOG_FIXED(log_gpu_process, gpt_gpu_process, GPT_GPU_PROCESS)
LOG_FIXED(log_gpu_error, gpt_gpu_error, GPT_GPU_ERROR)
LOG_FIXED(log_nccl, gpt_nccl, GPT_NCCL)
LOG_FIXED(log_clock, gpt_clock, GPT_CLOCK)
LOG_FIXED(log_cost, gpt_cost, GPT_COST)
LOG_FIXED(log_start, gpt_start, GPT_START)
LOG_FIXED(log_detail, gpt_detail, GPT_DETAIL_CHANGE)

/* Inside a batch: log_batch() first. */
LOG_FIXED(log_agent_api, gpt_agent_api, GPT_AGENT_API)
LOG_FIXED(log_agent_kernel, gpt_agent_kernel, GPT_AGENT_KERNEL)
LOG_FIXED(log_agent_memcpy, gpt_agent_memcpy, GPT_AGENT_MEMCPY)
LOG_FIXED(log_agent_memset, gpt_agent_memset, GPT_AGENT_MEMSET)
LOG_FIXED(log_agent_overhead, gpt_agent_overhead, GPT_AGENT_OVERHEAD)
LOG_FIXED(log_agent_sync, gpt_agent_sync, GPT_AGENT_SYNC)
LOG_FIXED(log_agent_jit, gpt_agent_jit, GPT_AGENT_JIT)
LOG_FIXED(log_agent_memory, gpt_agent_memory, GPT_AGENT_MEMORY)
LOG_FIXED(log_agent_graph_node, gpt_agent_graph_node, GPT_AGENT_GRAPH_NODE)
LOG_FIXED(log_agent_event, gpt_agent_event, GPT_AGENT_EVENT)
LOG_FIXED(log_agent_context, gpt_agent_context, GPT_AGENT_CONTEXT)
LOG_FIXED(log_agent_stream, gpt_agent_stream, GPT_AGENT_STREAM)
LOG_FIXED(log_agent_clock, gpt_agent_clock, GPT_AGENT_CLOCK)
LOG_FIXED(log_agent_stats, gpt_agent_stats, GPT_AGENT_STATS)
LOG_FIXED(log_agent_api_activity, gpt_agent_api_activity, GPT_AGENT_API_ACTIVITY)

/* name and domain are appended to the record. */
LOG_FN void log_agent_range(struct log_builder *log, const struct gpt_agent_range *range, const char *name,
			    const char *domain)
{
	struct gpt_agent_range record;
	char text[512];

	memcpy(&record, range, sizeof(record));
	record.bytes = (uint16_t)strlen(name);
	record.domain_bytes = (uint16_t)strlen(domain);
	snprintf(text, sizeof(text), "%s%s", name, domain);
	log_put(log, GPT_AGENT_RANGE, &record, sizeof(record), text, strlen(text));
}

/* The record of its name comes first; name 0: none. */
LOG_FN void log_agent_op_name(struct log_builder *log, uint32_t name, const char *text)
{
	struct gpt_agent_name record = {.id = name | GPT_AGENT_NAME_OF_OP, .bytes = (uint32_t)strlen(text)};

	log_put(log, GPT_AGENT_NAME, &record, sizeof(record), text, strlen(text));
}

LOG_FN void log_agent_op_inputs(struct log_builder *log, uint32_t inputs, const char *text)
{
	struct gpt_agent_name record = {.id = inputs | GPT_AGENT_NAME_OF_INPUTS, .bytes = (uint32_t)strlen(text)};

	log_put(log, GPT_AGENT_NAME, &record, sizeof(record), text, strlen(text));
}

/* An op; the records of `name` and `collective` come before it. */
LOG_FN void log_agent_op(struct log_builder *log, const struct gpt_agent_op *op)
{
	struct gpt_agent_op record = *op;

	if (record.name)
		record.name |= GPT_AGENT_NAME_OF_OP;
	if (record.collective)
		record.collective |= GPT_AGENT_NAME_OF_OP;
	if (!record.end_tid)
		record.end_tid = record.tid;
	log_put(log, GPT_AGENT_OP, &record, sizeof(record), NULL, 0);
}

LOG_FN void log_agent_ops(struct log_builder *log, uint32_t state, uint64_t lost, const char *detail)
{
	struct gpt_agent_ops record = {.state = state, .lost = lost, .version = 0x020f00};
	char text[512];

	record.bytes = (uint32_t)snprintf(text, sizeof(text), "/lib/libtorch_cpu.so%c%s", 0, detail) + 1;
	log_put(log, GPT_AGENT_OPS, &record, sizeof(record), text, record.bytes);
}

/* Times are taken unchanged. */
LOG_FN void log_agent_torch_memory(struct log_builder *log, struct gpt_agent_torch_memory event)
{
	log_put(log, GPT_AGENT_TORCH_MEMORY, &event, sizeof(event), NULL, 0);
}

LOG_FN void log_agent_torch_memory_state(struct log_builder *log, uint64_t lost, const char *detail)
{
	struct gpt_agent_torch_memory_state state = {.lost = lost, .seen = 1, .bytes = (uint32_t)strlen(detail)};

	log_put(log, GPT_AGENT_TORCH_MEMORY_STATE, &state, sizeof(state), detail, state.bytes);
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

/* cudaLaunchKernel reported by the agent; stack_id 0: none (stack_state NO_PYTHON). */
LOG_FN void log_launch(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t stack_id,
		       uint32_t corr)
{
	log_call(log, (struct gpt_call){.time_ns = time_ns,
					.pid = pid,
					.tid = tid,
					.stack_id = stack_id,
					.corr = corr,
					.api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = stack_id ? GPT_STACK_OK : GPT_STACK_NO_PYTHON});
}

/* ---- Python ------------------------------------------------------------------------------------------------ */

/* A code object with Latin-1 names (NULL: absent) and a line table in CPython's format. */
LOG_FN void log_code(struct log_builder *log, uint32_t pid, uint64_t code, const char *name, const char *qualname,
		     const char *file, uint32_t first_line, enum gpt_linetable kind, const void *table, size_t bytes)
{
	const char *text[3] = {name, qualname, file};
	struct gpt_code record = {.code = code,
				  .pid = pid,
				  .first_line = first_line,
				  .name_bytes = name ? strlen(name) : 0,
				  .qualname_bytes = qualname ? strlen(qualname) : 0,
				  .filename_bytes = file ? strlen(file) : 0,
				  .name_kind = name ? 1 : 0,
				  .qualname_kind = qualname ? 1 : 0,
				  .filename_kind = file ? 1 : 0,
				  .linetable = kind,
				  .linetable_bytes = bytes};
	struct log_builder strings = {0};

	for (int i = 0; i < 3; i++) {
		log_raw(&strings, text[i] ? text[i] : "", text[i] ? strlen(text[i]) : 0);
		log_pad(&strings);
	}
	log_put(log, GPT_CODE, &record, sizeof(record), strings.data, strings.size);
	free(strings.data);
	for (size_t at = 0; at < bytes; at += GPT_CODE_LINES_CHUNK) {
		size_t chunk = bytes - at < GPT_CODE_LINES_CHUNK ? bytes - at : GPT_CODE_LINES_CHUNK;
		struct gpt_code_lines lines = {.code = code, .pid = pid, .offset = at, .bytes = chunk};

		log_put(log, GPT_CODE_LINES, &lines, sizeof(lines), (const uint8_t *)table + at, chunk);
	}
}

#define LOG_FUNCTION_LINES 64 /* lines of a function made by log_function */

/* A function of LOG_FUNCTION_LINES lines whose instruction at byte offset 2 * n is on line first_line + n. */
LOG_FN void log_function(struct log_builder *log, uint32_t pid, uint64_t code, const char *name, const char *file,
			 uint32_t first_line)
{
	uint8_t table[2 * LOG_FUNCTION_LINES];

	/* Objects/locations.md: form 13 (line only), one code unit, signed varint line delta 0 or 1 */
	for (int i = 0; i < LOG_FUNCTION_LINES; i++) {
		table[2 * i] = 0x80 | 13 << 3;
		table[2 * i + 1] = i ? 1 << 1 : 0;
	}
	log_code(log, pid, code, name, name, file, first_line, GPT_LINES_LOCATIONS, table, sizeof(table));
}

/* Frames innermost first. */
LOG_FN void log_stack(struct log_builder *log, uint32_t pid, uint64_t id, uint32_t depth,
		      const struct gpt_pyframe *frames)
{
	struct gpt_pystack record = {.id = id, .pid = pid, .depth = depth};

	log_put(log, GPT_PYSTACK, &record, sizeof(record), frames, depth * sizeof(*frames));
}

LOG_FN void log_stack_truncated(struct log_builder *log, uint32_t pid, uint64_t id, uint32_t depth,
				const struct gpt_pyframe *frames)
{
	struct gpt_pystack record = {.hdr.flags = GPT_PYSTACK_TRUNCATED, .id = id, .pid = pid, .depth = depth};

	log_put(log, GPT_PYSTACK, &record, sizeof(record), frames, depth * sizeof(*frames));
}

/* Frames and modules innermost first; at most GPT_PYSTACK_MAX_FRAMES of both together. */
LOG_FN void log_stack_of_modules(struct log_builder *log, uint32_t pid, uint64_t id, uint32_t depth,
				 const struct gpt_pyframe *frames, uint32_t count,
				 const struct gpt_stack_module *modules)
{
	struct gpt_pystack record = {.hdr.flags = GPT_PYSTACK_MODULES, .id = id, .pid = pid, .depth = depth};
	uint8_t tail[GPT_PYSTACK_MAX_FRAMES * sizeof(*frames)];

	memcpy(tail, frames, depth * sizeof(*frames));
	memcpy(tail + depth * sizeof(*frames), modules, count * sizeof(*modules));
	log_put(log, GPT_PYSTACK, &record, sizeof(record), tail, (depth + count) * sizeof(*frames));
}

/* text: name, class, class of the root, why it has no name, other names, each with a zero byte at its end */
LOG_FN void log_module(struct log_builder *log, const struct gpt_module *module, const char *text, uint32_t bytes)
{
	struct gpt_module record = *module;

	record.bytes = bytes;
	log_put(log, GPT_MODULE, &record, sizeof(record), text, bytes);
}

/* ---- native ------------------------------------------------------------------------------------------------ */

LOG_FN void log_native_stack(struct log_builder *log, uint32_t pid, uint64_t id, uint32_t depth, const uint64_t *ips)
{
	struct gpt_native_stack record = {.id = id, .pid = pid, .depth = depth};

	log_put(log, GPT_NATIVE_STACK, &record, sizeof(record), ips, depth * sizeof(*ips));
}

/* Joins strings with their terminators: log_text(out, 2, "a", "b") is "a\0b\0"; returns the number of bytes. */
LOG_FN size_t log_join(char *out, size_t size, int count, const char *const *texts)
{
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		size_t length = strlen(texts[i]) + 1;

		if (used + length > size)
			abort();
		memcpy(out + used, texts[i], length);
		used += length;
	}
	return used;
}

LOG_FN void log_native_sym(struct log_builder *log, uint32_t pid, uint64_t ip, const char *symbol, const char *module)
{
	char text[8192];
	size_t bytes = log_join(text, sizeof(text), 2, (const char *[]){symbol, module});
	struct gpt_native_sym record = {.ip = ip, .pid = pid, .bytes = bytes};

	log_put(log, GPT_NATIVE_SYM, &record, sizeof(record), text, bytes);
}

LOG_FN void log_generated(struct log_builder *log, uint32_t line, uint32_t kernel_line, const char *const texts[5])
{
	char text[8192];
	uint32_t bytes = (uint32_t)log_join(text, sizeof(text), 5, texts);
	struct gpt_generated record = {.pid = 7, .line = line, .kernel_line = kernel_line, .bytes = bytes};

	log_put(log, GPT_GENERATED, &record, sizeof(record), text, bytes);
}

/* ---- processes and threads --------------------------------------------------------------------------------- */

LOG_FN void log_thread(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t time_ns, const char *comm)
{
	struct gpt_thread record = {.time_ns = time_ns, .pid = pid, .tid = tid, .own_tid = tid};

	snprintf(record.comm, sizeof(record.comm), "%s", comm);
	log_thread_record(log, record);
}

/* type: GPT_FORK (pid: child, other_pid: parent), GPT_EXEC, GPT_EXIT */
LOG_FN void log_process_event(struct log_builder *log, enum gpt_record_type type, uint32_t pid, uint32_t other_pid,
			      uint64_t time_ns, const char *comm)
{
	struct gpt_process_event record = {.time_ns = time_ns, .pid = pid, .other_pid = other_pid};

	snprintf(record.comm, sizeof(record.comm), "%s", comm);
	log_put(log, type, &record, sizeof(record), NULL, 0);
}

/* python: major << 8 | minor */
LOG_FN void log_process(struct log_builder *log, uint32_t pid, uint32_t parent, uint64_t time_ns, uint64_t start_ns,
			uint16_t python, const char *comm, const char *exe, const char *cmdline,
			const char *python_path)
{
	char text[16384];
	size_t bytes = log_join(text, sizeof(text), 4, (const char *[]){comm, exe, cmdline, python_path});
	struct gpt_process record = {.time_ns = time_ns,
				     .start_ns = start_ns,
				     .pid = pid,
				     .parent = parent,
				     .python = python,
				     .bytes = bytes};

	log_put(log, GPT_PROCESS, &record, sizeof(record), text, bytes);
}

/* ---- records of the collector itself ----------------------------------------------------------------------- */

/* type: GPT_PROBES or GPT_NOTE */
LOG_FN void log_text(struct log_builder *log, enum gpt_record_type type, uint32_t pid, const char *text)
{
	struct gpt_text record = {.pid = pid, .bytes = strlen(text) + 1};

	log_put(log, type, &record, sizeof(record), text, record.bytes);
}

LOG_FN void log_session(struct log_builder *log, const char *version, const char *host, const char *kernel,
			const char *target, uint32_t cpus, uint32_t min_complete, uint32_t metric_launches)
{
	char text[4096];
	size_t bytes = log_join(text, sizeof(text), 4, (const char *[]){version, host, kernel, target});
	struct gpt_session record = {
		.metric_launches = metric_launches, .min_complete = min_complete, .cpus = cpus, .bytes = bytes};

	log_put(log, GPT_SESSION, &record, sizeof(record), text, bytes);
}

/* The session's options for completeness ("99900") and the agent ("auto"). */
LOG_FN void log_session_asks(struct log_builder *log, const char *min_complete, const char *agent)
{
	char text[4096];
	size_t bytes =
		log_join(text, sizeof(text), 6, (const char *[]){"1", "host", "6.18", "pid 7", min_complete, agent});
	struct gpt_session record = {.cpus = 1, .bytes = bytes};

	log_put(log, GPT_SESSION, &record, sizeof(record), text, bytes);
}

/* counters: GPT_COUNTER_COUNT of them */
LOG_FN void log_end_with(struct log_builder *log, const struct gpt_end *end, const uint64_t *counters)
{
	struct gpt_end record = *end;

	record.counters_count = GPT_COUNTER_COUNT;
	log_put(log, GPT_END, &record, sizeof(record), counters, GPT_COUNTER_COUNT * sizeof(*counters));
}

/* A plain end: the duration is over, nothing was lost. */
LOG_FN void log_end(struct log_builder *log, uint64_t time_ns)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {0};

	log_end_with(log, &(struct gpt_end){.time_ns = time_ns, .reason = GPT_END_DURATION}, counters);
}

/* ---- the agent --------------------------------------------------------------------------------------------- */

/* Opens a batch; the next record that is not the agent's closes it. */
LOG_FN void log_batch(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct gpt_agent_batch record = {.time_ns = time_ns, .pid = pid, .tid = tid};
	size_t at;

	log_batch_end(log);
	at = log->size;
	log_put(log, GPT_AGENT_BATCH, &record, sizeof(record), NULL, 0);
	log->batch = at;
}

/* A foreign batch as the collector makes it; flags: GPT_BATCH_*. */
LOG_FN void log_batch_foreign(struct log_builder *log, uint32_t pid, uint64_t time_ns, uint16_t flags,
			      uint32_t error_ns)
{
	struct gpt_agent_batch batch;

	log_batch(log, pid, pid, time_ns);
	memcpy(&batch, log->data + log->batch, sizeof(batch));
	batch.hdr.flags = GPT_BATCH_FOREIGN | flags;
	batch.error_ns = error_ns;
	memcpy(log->data + log->batch, &batch, sizeof(batch));
}

/* READY, with the record kinds ("kernels,..."; "": none yet). */
LOG_FN void log_agent_ready(struct log_builder *log, const char *sets)
{
	char text[4096];
	size_t bytes = log_join(text, sizeof(text), 3, (const char *[]){"", "", sets});
	struct gpt_agent_hello record = {.abi = GPT_AGENT_ABI, .state = GPT_AGENT_READY, .bytes = bytes};

	log_put(log, GPT_AGENT_HELLO, &record, sizeof(record), text, bytes);
}

LOG_FN void log_agent_hello(struct log_builder *log, enum gpt_agent_state state, enum gpt_agent_failure failure,
			    uint32_t cupti_version, const char *cupti_path, const char *detail)
{
	char text[4096];
	size_t bytes = log_join(text, sizeof(text), 2, (const char *[]){cupti_path, detail});
	struct gpt_agent_hello record = {.abi = GPT_AGENT_ABI,
					 .state = state,
					 .failure = failure,
					 .cupti_version = cupti_version,
					 .driver_version = 13000,
					 .runtime_version = 13000,
					 .bytes = bytes};

	log_put(log, GPT_AGENT_HELLO, &record, sizeof(record), text, bytes);
}

LOG_FN void log_agent_name(struct log_builder *log, uint32_t id, const char *mangled)
{
	struct gpt_agent_name record = {.id = id, .bytes = strlen(mangled)};

	log_put(log, GPT_AGENT_NAME, &record, sizeof(record), mangled, record.bytes);
}

/* Like log_agent_name, for a kernel whose code names the place of its function. */
LOG_FN void log_agent_name_at(struct log_builder *log, uint32_t id, const char *mangled, const char *place)
{
	struct gpt_agent_name record = {.id = id, .bytes = strlen(mangled) + 1 + strlen(place)};
	char text[256];

	snprintf(text, sizeof(text), "%s%c%s", mangled, 0, place);
	log_put(log, GPT_AGENT_NAME, &record, sizeof(record), text, record.bytes);
}

LOG_FN void log_nvml(struct log_builder *log, enum gpt_nvml_state state, const char *text)
{
	struct gpt_nvml record = {.state = state, .bytes = (uint32_t)strlen(text) + 1};

	log_put(log, GPT_NVML, &record, sizeof(record), text, record.bytes);
}

/* device->bytes is filled in */
LOG_FN void log_agent_device(struct log_builder *log, const struct gpt_agent_device *device, const char *name)
{
	struct gpt_agent_device record = *device;

	record.bytes = strlen(name);
	log_put(log, GPT_AGENT_DEVICE, &record, sizeof(record), name, record.bytes);
}

/* ---- the result -------------------------------------------------------------------------------------------- */

/* The number of bytes that are whole records. */
LOG_FN size_t log_whole_records(const uint8_t *data, size_t size)
{
	struct gpt_record record;
	size_t at = 0;

	while (size - at >= sizeof(record)) {
		memcpy(&record, data + at, sizeof(record));
		if (record.size < sizeof(record) || record.size % 8 || record.size > GPT_RECORD_MAX ||
		    record.size > size - at)
			break;
		at += record.size;
	}
	return at;
}

LOG_FN void log_write(int fd, const void *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t wrote = write(fd, (const uint8_t *)bytes + done, count - done);

		if (wrote <= 0)
			abort();
		done += (size_t)wrote;
	}
}

/* Small segments, so that a test's log has several, but not thousands. */
#define LOG_SEGMENT_BYTES(log_bytes) ((log_bytes) / 64 > 2048 ? (log_bytes) / 64 : 2048)

/*
 * Writes the log with gputrace's writer. A last record GPT_END ends the log; bytes after the last whole record become
 * damage.
 */
LOG_FN void log_write_segments(const struct log_builder *log, int fd)
{
	size_t whole = sizeof(struct log_head) +
		       log_whole_records(log->data + sizeof(struct log_head), log->size - sizeof(struct log_head));
	struct log_writer *writer = log_writer_open(fd);
	struct log_head head;
	size_t cut = 0;
	int err = 0;

	memcpy(&head, log->data, sizeof(head));
	err = log_writer_set_start(writer, head.start_ns, head.wall_offset_ns);
	for (size_t at = sizeof(head); at < whole && !err;) {
		struct gpt_record *record = (struct gpt_record *)(log->data + at);

		at += record->size;
		if (at == log->size && record->type == GPT_END && record->size >= sizeof(struct gpt_end)) {
			err = log_writer_finish(writer, (struct gpt_end *)record);
			break;
		}
		err = log_writer_append(writer, record);
		if (at - cut < LOG_SEGMENT_BYTES(log->size) || err)
			continue;
		err = log_writer_settle(writer);
		cut = at;
	}
	if (err || log_writer_settle(writer))
		abort();
	log_writer_close(writer);
	if (lseek(fd, 0, SEEK_END) < 0)
		abort();
	log_write(fd, "damage", whole == log->size ? 0 : 6);
}

/* A file in memory that holds the log, at offset 0. Without log_begin() it holds the bytes unchanged. */
LOG_FN int log_fd(struct log_builder *log)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	log_batch_end(log);
	if (fd < 0)
		abort();
	if (log->begun)
		log_write_segments(log, fd);
	else
		log_write(fd, log->data, log->size);
	if (lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

LOG_FN void log_free(struct log_builder *log)
{
	free(log->data);
	memset(log, 0, sizeof(*log));
}
