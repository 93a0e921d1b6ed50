/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An event of a Kineto trace to a row, by its category. */
#include <string.h>

#include "input/kineto_event.h"
#include "input/kineto_collective.h"
#include "input/names.h"

#define NS_MAX (INT64_MAX / 4) /* some 73 years: later times are invented */

static uint32_t text_of(struct foreign_file *file, const struct json_text *text, text_buffer *scratch)
{
	if (!text->escaped)
		return rows_text(&file->rows, text->bytes, text->size);
	scratch->count = 0;
	json_unescape(scratch, text);
	return rows_text(&file->rows, scratch->items, scratch->count);
}

/* A number that is one of 32 bits, else what stands for those that are not known. */
static uint32_t number(const struct kineto_event *event, enum kineto_number which, uint32_t unknown)
{
	int64_t value = event->numbers[which];

	return value >= 0 && value < UINT32_MAX ? (uint32_t)value : unknown;
}

static uint64_t wide_number(const struct kineto_event *event, enum kineto_number which)
{
	return event->numbers[which] >= 0 ? (uint64_t)event->numbers[which] : 0;
}

static uint32_t id(int64_t value)
{
	return value > 0 && value < UINT32_MAX ? (uint32_t)value : 0;
}

static struct row row_of(const struct kineto_event *event, enum row_kind kind)
{
	return (struct row){.start_ns = (uint64_t)event->start_ns,
			    .end_ns = (uint64_t)(event->start_ns + event->duration_ns),
			    .pid = id(event->pid),
			    .tid = id(event->tid),
			    .text = ROW_NO_TEXT,
			    .kind = kind,
			    .corr = number(event, KINETO_CORRELATION, 0)};
}

/* ---- on a thread ------------------------------------------------------------------------------------------------- */

/* The four arrays, of which an older PyTorch has two. */
static uint32_t inputs_of(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch)
{
	const struct json_text *parts[] = {&event->dims, &event->types, &event->strides, &event->concrete};

	if (!event->dims.size && !event->types.size)
		return ROW_NO_TEXT;
	scratch->count = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *text = parts[i]->size ? parts[i]->bytes : "[]";
		size_t size = parts[i]->size ? parts[i]->size : 2;

		scratch->items = array_reserve(scratch->items, 1, scratch->count, size + 1, &scratch->capacity);
		if (i)
			scratch->items[scratch->count++] = ' ';
		memcpy(scratch->items + scratch->count, text, size);
		scratch->count += size;
	}
	return rows_text(&file->rows, scratch->items, scratch->count);
}

/* The op around a node has the node's numbers here; the model gives it these, and the node, as it does to a log's. */
static bool is_around_node(const struct json_text *name)
{
	static const char prefix[] = "autograd::engine::evaluate_function: ";

	return name->size >= sizeof(prefix) - 1 && !memcmp(name->bytes, prefix, sizeof(prefix) - 1);
}

static struct kineto_moment moment_of(const struct row *row)
{
	return (struct kineto_moment){.time_ns = row->start_ns, .pid = row->pid, .tid = row->tid};
}

static void add_op(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		   uint8_t scope)
{
	text_buffer *scratch = &reading->scratch;
	struct row_op op = {.row = row_of(event, ROW_OP),
			    .sequence = event->numbers[KINETO_SEQUENCE] >= 0 ? event->numbers[KINETO_SEQUENCE] : -1,
			    .forward_thread = wide_number(event, KINETO_FORWARD_THREAD),
			    .collective_sequence = -1,
			    .scope = scope,
			    .unfinished = event->unfinished};

	if (!op.row.pid || !op.row.tid) {
		file->bad++;
		return;
	}
	op.row.text = text_of(file, &event->name, scratch);
	op.inputs = inputs_of(file, event, scratch);
	op.collective = kineto_collective(file, event, scratch);
	if (op.collective != ROW_NO_TEXT && event->numbers[KINETO_GROUP_SEQUENCE] >= 0)
		op.collective_sequence = event->numbers[KINETO_GROUP_SEQUENCE];
	op.stack = kineto_stack(&reading->stacks, file, &event->call_stack, scratch);
	if (op.sequence >= 0)
		kineto_threads_op(&reading->threads, file, moment_of(&op.row), op.forward_thread);
	if (is_around_node(&event->name)) {
		op.sequence = -1;
		op.forward_thread = 0;
	} else if (scope == GPT_AGENT_OP_FUNCTION && op.forward_thread) {
		op.scope = GPT_AGENT_OP_BACKWARD_FUNCTION;
	}
	if (op.scope == GPT_AGENT_OP_BACKWARD_FUNCTION)
		foreign_thread(file, op.row.pid, op.row.tid)->has_nodes = true;
	foreign_thread(file, op.row.pid, op.row.tid);
	foreign_process(file, op.row.pid)->has_ops = true;
	rows_add(&file->rows, &op.row, sizeof(op));
}

/* "file.py:12" */
static uint32_t line_of(const struct json_text *text)
{
	uint64_t line = 0, factor = 1;
	size_t at = text->size;

	for (; at && factor < 1000000000 && text->bytes[at - 1] >= '0' && text->bytes[at - 1] <= '9'; at--) {
		line += factor * (uint64_t)(text->bytes[at - 1] - '0');
		factor *= 10;
	}
	return at && text->bytes[at - 1] == ':' ? (uint32_t)line : 0;
}

/* torch.autograd calls PyTorch's engine by this one, whatever the pass is. */
static bool is_backward(const struct json_text *name)
{
	static const char prefix[] = "<built-in method run_backward of torch._C._EngineBase object";

	return name->size >= sizeof(prefix) - 1 && !memcmp(name->bytes, prefix, sizeof(prefix) - 1);
}

/* Calls of C functions and of modules are no frames of their own. */
static bool is_frame(const struct kineto_event *event)
{
	const struct json_text *name = &event->name;

	return event->numbers[KINETO_MODULE] == KINETO_NO_NUMBER &&
	       (!name->size || name->bytes[0] != '<' || memmem(name->bytes, name->size, "): ", 3));
}

static void add_function(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch)
{
	struct row_function function = {.row = row_of(event, ROW_FUNCTION),
					.called_from = line_of(&event->called_from),
					.is_frame = is_frame(event),
					.is_backward = is_backward(&event->name)};
	struct row leave;

	if (!function.row.pid || !function.row.tid) {
		file->bad++;
		return;
	}
	function.row.text = text_of(file, &event->name, scratch);
	foreign_thread(file, function.row.pid, function.row.tid);
	rows_add(&file->rows, &function.row, sizeof(function));
	leave = function.row;
	leave.kind = ROW_LEAVE;
	leave.start_ns = leave.end_ns;
	rows_add(&file->rows, &leave, sizeof(leave));
}

/* Calls that gputrace does not follow are left out, as from its own logs. */
static void add_call(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		     enum gpt_api_domain domain)
{
	struct row_call call = {.row = row_of(event, ROW_CALL)};

	call.api = name_to_api(event->name.bytes, event->name.size, domain, event->numbers[KINETO_CBID]);
	if (!call.row.pid || !call.row.tid) {
		file->bad++;
		return;
	}
	if (!call.api)
		return;
	call.stack = kineto_stack(&reading->stacks, file, &event->call_stack, &reading->scratch);
	foreign_thread(file, call.row.pid, call.row.tid);
	rows_add(&file->rows, &call.row, sizeof(call));
}

static void add_memory(struct foreign_file *file, const struct kineto_event *event, bool out)
{
	struct row_memory memory = {.row = row_of(event, ROW_MEMORY)};
	int64_t bytes = event->numbers[KINETO_BYTES], device = event->numbers[KINETO_DEVICE_ID],
		type = event->numbers[KINETO_DEVICE_TYPE];

	if (bytes == KINETO_NO_NUMBER || !memory.row.pid || !memory.row.tid) {
		file->bad++;
		return;
	}
	memory.memory = (struct new_torch_memory){
		.address = wide_number(event, KINETO_ADDRESS),
		.bytes = bytes,
		.allocated = wide_number(event, KINETO_ALLOCATED),
		.reserved = wide_number(event, KINETO_RESERVED),
		.kind = out	    ? GPT_AGENT_TORCH_MEMORY_OUT
			: bytes < 0 ? GPT_AGENT_TORCH_MEMORY_FREED
				    : GPT_AGENT_TORCH_MEMORY_ALLOCATED,
		.device_type = (int8_t)(type >= 0 && type <= INT8_MAX ? type : GPT_TORCH_CPU),
		.device = (int8_t)(device >= -1 && device <= INT8_MAX ? device : -1),
		.has_totals = true,
	};
	foreign_thread(file, memory.row.pid, memory.row.tid);
	foreign_process(file, memory.row.pid)->has_torch_memory = true;
	rows_add(&file->rows, &memory.row, sizeof(memory));
}

/* ---- on the GPU -------------------------------------------------------------------------------------------------- */

static uint32_t at_most(int64_t value, uint32_t most)
{
	return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

/* Static and dynamic shared memory are one number; memory that is local to threads is not told at all. */
static uint8_t unknown_of(const struct kineto_event *event)
{
	unsigned unknown = MODEL_GPU_NO_STATIC_SHARED | MODEL_GPU_NO_LOCAL;

	if (event->numbers[KINETO_BYTES] < 0)
		unknown |= MODEL_GPU_NO_BYTES;
	if (event->numbers[KINETO_REGISTERS] < 0)
		unknown |= MODEL_GPU_NO_REGISTERS;
	if (event->numbers[KINETO_SHARED] < 0)
		unknown |= MODEL_GPU_NO_DYNAMIC_SHARED;
	for (int i = 0; i < 3; i++)
		if (event->grid[i] < 0 || event->block[i] < 0)
			unknown |= MODEL_GPU_NO_LAUNCH;
	return (uint8_t)unknown;
}

static void add_gpu(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch,
		    enum model_gpu_kind kind)
{
	struct row_gpu gpu = {.row = row_of(event, ROW_GPU)};
	int64_t priority = event->numbers[KINETO_PRIORITY];

	gpu.row.pid = gpu.row.tid = 0;
	gpu.work = (struct new_gpu_work){
		.bytes = wide_number(event, KINETO_BYTES),
		.graph = number(event, KINETO_GRAPH, 0),
		.graph_node = wide_number(event, KINETO_GRAPH_NODE),
		.device = number(event, KINETO_DEVICE, (uint32_t)(event->pid > 0 ? id(event->pid) : 0)),
		.context = number(event, KINETO_CONTEXT, 0),
		.stream = number(event, KINETO_STREAM, id(event->tid)),
		/* static and dynamic in one number */
		.dynamic_shared_bytes = number(event, KINETO_SHARED, 0),
		.registers = number(event, KINETO_REGISTERS, 0),
		.channel = number(event, KINETO_CHANNEL, 0),
		.channel_type = (uint8_t)at_most(event->numbers[KINETO_CHANNEL_TYPE], UINT8_MAX),
		.priority = (int8_t)(priority >= INT8_MIN && priority <= INT8_MAX ? priority : 0),
		.kind = (uint8_t)kind,
		.unknown = unknown_of(event),
	};
	for (int i = 0; i < 3; i++) {
		gpu.work.grid[i] = at_most(event->grid[i], UINT32_MAX);
		gpu.work.block[i] = at_most(event->block[i], UINT32_MAX);
	}
	if (kind == MODEL_KERNEL)
		gpu.row.text = text_of(file, &event->name, scratch);
	else
		name_to_memory_kinds(event->name.bytes, event->name.size, &gpu.work);
	rows_add(&file->rows, &gpu.row, sizeof(gpu));
}

static void add_sync(struct foreign_file *file, const struct kineto_event *event)
{
	struct row_sync sync = {.row = row_of(event, ROW_SYNC), .device = number(event, KINETO_DEVICE, 0)};
	enum gpt_agent_sync_kind kind = name_to_sync(event->name.bytes, event->name.size);

	if (!kind)
		return;
	sync.row.pid = sync.row.tid = 0;
	sync.sync = (struct new_sync){.context = number(event, KINETO_CONTEXT, 0),
				      .stream = number(event, KINETO_STREAM, UINT32_MAX),
				      .event = number(event, KINETO_EVENT, 0),
				      .kind = kind};
	rows_add(&file->rows, &sync.row, sizeof(sync));
}

static void add_overhead(struct foreign_file *file, const struct kineto_event *event)
{
	struct row_overhead overhead = {.row = row_of(event, ROW_OVERHEAD)};

	overhead.overhead = name_to_overhead(event->name.bytes, event->name.size);
	overhead.row.pid = overhead.row.tid = 0;
	rows_add(&file->rows, &overhead.row, sizeof(overhead));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void add_complete(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	text_buffer *scratch = &reading->scratch;
	const struct json_text *category = &event->category;

	if (JSON_IS(category, "cpu_op"))
		add_op(file, event, reading, GPT_AGENT_OP_FUNCTION);
	else if (JSON_IS(category, "user_annotation"))
		add_op(file, event, reading, GPT_AGENT_OP_USER_SCOPE);
	else if (JSON_IS(category, "python_function"))
		add_function(file, event, scratch);
	else if (JSON_IS(category, "cuda_runtime"))
		add_call(file, event, reading, GPT_DOMAIN_RUNTIME);
	else if (JSON_IS(category, "cuda_driver"))
		add_call(file, event, reading, GPT_DOMAIN_DRIVER);
	else if (JSON_IS(category, "kernel"))
		add_gpu(file, event, scratch, MODEL_KERNEL);
	else if (JSON_IS(category, "gpu_memcpy"))
		add_gpu(file, event, scratch, MODEL_MEMCPY);
	else if (JSON_IS(category, "gpu_memset"))
		add_gpu(file, event, scratch, MODEL_MEMSET);
	else if (JSON_IS(category, "cuda_sync"))
		add_sync(file, event);
	else if (JSON_IS(category, "overhead"))
		add_overhead(file, event);
	else if (JSON_IS(category, "Trace") && event->duration_ns > 0) {
		file->start_ns = (uint64_t)event->start_ns;
		file->end_ns = (uint64_t)(event->start_ns + event->duration_ns);
	}
}

/* What stands in the brackets of "thread 41230 (python3)". */
static struct json_text own_name(struct json_text text)
{
	static const char begin[] = "thread ";
	const char *open;

	if (text.size <= sizeof(begin) || memcmp(text.bytes, begin, sizeof(begin) - 1) ||
	    text.bytes[text.size - 1] != ')')
		return text;
	open = memchr(text.bytes, '(', text.size);
	if (open)
		text = (struct json_text){open + 1, (size_t)(text.bytes + text.size - 1 - (open + 1)), text.escaped};
	return text;
}

static void add_metadata(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch)
{
	uint32_t pid = id(event->pid), tid = id(event->tid);
	struct json_text name = own_name(event->text);

	if (!pid || !event->text.size)
		return;
	if (JSON_IS(&event->name, "thread_name") && tid)
		foreign_name(file, pid, tid, text_of(file, &name, scratch));
	else if (JSON_IS(&event->name, "process_name"))
		foreign_name(file, pid, FOREIGN_PROCESS, text_of(file, &name, scratch));
}

/* From a forward op to its backward one; the others say what correlation ids say, too. */
static void add_arrow(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	struct row at = row_of(event, ROW_OP);

	if (!JSON_IS(&event->category, "fwdbwd") || event->id < 0 || !at.pid || !at.tid)
		return;
	if (event->phase == 's')
		kineto_threads_begin_arrow(&reading->threads, file, moment_of(&at), (uint64_t)event->id);
	else
		kineto_threads_end_arrow(&reading->threads, file, moment_of(&at), (uint64_t)event->id);
}

void kineto_event_add(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	bool is_arrow = event->phase == 's' || event->phase == 'f';

	if (event->phase == 'M') {
		add_metadata(file, event, &reading->scratch);
		return;
	}
	if (event->phase != 'X' && event->phase != 'i' && event->phase != 'I' && !is_arrow)
		return;
	if (event->start_ns < 0 || event->start_ns > NS_MAX || event->duration_ns < 0 || event->duration_ns > NS_MAX) {
		file->bad += !is_arrow;
		return;
	}
	if (is_arrow)
		add_arrow(file, event, reading);
	else if (event->phase == 'X')
		add_complete(file, event, reading);
	else if (JSON_IS(&event->name, "[memory]"))
		add_memory(file, event, false);
	else if (JSON_IS(&event->name, "[OutOfMemory]"))
		add_memory(file, event, true);
}
