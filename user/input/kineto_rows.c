/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An event of a Kineto trace to a row, by its category. */
#include <string.h>

#include "input/kineto_event.h"
#include "input/kineto_collective.h"
#include "input/kineto_own.h"
#include "input/kineto_row.h"
#include "input/names.h"

#define NS_MAX (INT64_MAX / 4) /* some 73 years: later times are invented */

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
#define AROUND_NODE "autograd::engine::evaluate_function: "

static uint32_t node_of(struct foreign_file *file, uint32_t name)
{
	struct text text;

	if (name >= file->rows.texts.count)
		return ROW_NO_TEXT;
	text = file->rows.texts.items[name];
	return rows_text(&file->rows, text.bytes + sizeof(AROUND_NODE) - 1, text.size - (sizeof(AROUND_NODE) - 1));
}

static struct kineto_moment moment_of(const struct row *row)
{
	return (struct kineto_moment){.time_ns = row->start_ns, .pid = row->pid, .tid = row->tid};
}

static void add_op(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		   uint8_t scope)
{
	text_buffer *scratch = &reading->scratch;
	struct row_op op = {.row = kineto_row(event, ROW_OP),
			    .sequence = event->numbers[KINETO_SEQUENCE] >= 0 ? event->numbers[KINETO_SEQUENCE] : -1,
			    .forward_thread = kineto_wide(event, KINETO_FORWARD_THREAD),
			    .collective_sequence = -1,
			    .around = ROW_NO_TEXT,
			    .scope = scope,
			    .unfinished = event->unfinished};
	struct foreign_thread *thread;

	if (!op.row.pid || !op.row.tid) {
		file->bad++;
		return;
	}
	op.row.text = kineto_text(file, &event->name, scratch);
	op.inputs = inputs_of(file, event, scratch);
	op.collective = kineto_collective(file, event, scratch);
	if (op.collective != ROW_NO_TEXT && event->numbers[KINETO_GROUP_SEQUENCE] >= 0)
		op.collective_sequence = event->numbers[KINETO_GROUP_SEQUENCE];
	op.stack = kineto_stack(&reading->stacks, file, &event->call_stack, scratch);
	if (op.sequence >= 0)
		kineto_threads_op(&reading->threads, file, moment_of(&op.row), op.forward_thread);
	if (JSON_BEGINS(&event->name, AROUND_NODE)) {
		op.around = node_of(file, op.row.text);
		op.sequence = -1;
		op.forward_thread = 0;
	} else if (scope == GPT_AGENT_OP_FUNCTION && op.forward_thread) {
		op.scope = GPT_AGENT_OP_BACKWARD_FUNCTION;
	}
	thread = foreign_thread(file, op.row.pid, op.row.tid);
	thread->has_nodes |= op.around != ROW_NO_TEXT || op.scope == GPT_AGENT_OP_BACKWARD_FUNCTION;
	op.may_be_step = kineto_own_step(event, &reading->own);
	if (!op.may_be_step)
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
	return JSON_BEGINS(name, "<built-in method run_backward of torch._C._EngineBase object");
}

/* Calls of C functions and of modules are no frames of their own. */
static bool is_frame(const struct kineto_event *event)
{
	const struct json_text *name = &event->name;

	return event->numbers[KINETO_MODULE] == KINETO_NO_NUMBER &&
	       (!name->size || name->bytes[0] != '<' || memmem(name->bytes, name->size, "): ", 3));
}

static void add_function(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	struct row_function function = {.row = kineto_row(event, ROW_FUNCTION),
					.called_from = line_of(&event->called_from),
					.is_frame = is_frame(event),
					.is_backward = is_backward(&event->name)};
	struct row leave;

	if (!function.row.pid || !function.row.tid) {
		file->bad++;
		return;
	}
	function.row.text = kineto_text(file, &event->name, &reading->scratch);
	kineto_stacks_note(&reading->stacks, file, function.row.text);
	if (JSON_IS(&event->from, "snapshots")) /* drawn from stacks, which are told */
		return;
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
	struct row_call call = {.row = kineto_row(event, ROW_CALL)};

	call.api = name_to_api(event->name.bytes, event->name.size, domain, event->numbers[KINETO_CBID]);
	if (!call.row.pid || !call.row.tid) {
		file->bad++;
		return;
	}
	if (!call.api)
		return;
	call.stack = kineto_stack(&reading->stacks, file, &event->call_stack, &reading->scratch);
	kineto_own_call(event, &call);
	foreign_thread(file, call.row.pid, call.row.tid);
	rows_add(&file->rows, &call.row, sizeof(call));
}

static void add_memory(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		       bool out)
{
	struct row_memory memory = {.row = kineto_row(event, ROW_MEMORY)};
	int64_t bytes = event->numbers[KINETO_BYTES], device = event->numbers[KINETO_DEVICE_ID],
		type = event->numbers[KINETO_DEVICE_TYPE];

	if (bytes == KINETO_NO_NUMBER || !memory.row.pid || !memory.row.tid) {
		file->bad++;
		return;
	}
	memory.memory = (struct new_torch_memory){
		.address = kineto_wide(event, KINETO_ADDRESS),
		.bytes = bytes,
		.allocated = kineto_wide(event, KINETO_ALLOCATED),
		.reserved = kineto_wide(event, KINETO_RESERVED),
		.kind = out	    ? GPT_AGENT_TORCH_MEMORY_OUT
			: bytes < 0 ? GPT_AGENT_TORCH_MEMORY_FREED
				    : GPT_AGENT_TORCH_MEMORY_ALLOCATED,
		.device_type = (int8_t)(type >= 0 && type <= INT8_MAX ? type : GPT_TORCH_CPU),
		.device = (int8_t)(device >= -1 && device <= INT8_MAX ? device : -1),
		.has_totals = true,
	};
	foreign_thread(file, memory.row.pid, memory.row.tid);
	foreign_process(file, memory.row.pid)->has_torch_memory = true;
	memory.stack = kineto_stack(&reading->stacks, file, &event->call_stack, &reading->scratch);
	rows_add(&file->rows, &memory.row, sizeof(memory));
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
		add_function(file, event, reading);
	else if (JSON_IS(category, "cuda_runtime"))
		add_call(file, event, reading, GPT_DOMAIN_RUNTIME);
	else if (JSON_IS(category, "cuda_driver"))
		add_call(file, event, reading, GPT_DOMAIN_DRIVER);
	else if (JSON_IS(category, "kernel"))
		kineto_add_gpu(file, event, scratch, MODEL_KERNEL);
	else if (JSON_IS(category, "gpu_memcpy"))
		kineto_add_gpu(file, event, scratch, MODEL_MEMCPY);
	else if (JSON_IS(category, "gpu_memset"))
		kineto_add_gpu(file, event, scratch, MODEL_MEMSET);
	else if (JSON_IS(category, "cuda_sync"))
		kineto_add_sync(file, event);
	else if (JSON_IS(category, "overhead"))
		kineto_add_overhead(file, event);
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
	uint32_t pid = kineto_id(event->pid), tid = kineto_id(event->tid);
	struct json_text name = own_name(event->text);

	if (!pid || !event->text.size)
		return;
	if (JSON_IS(&event->name, "thread_name") && tid)
		foreign_name(file, pid, tid, kineto_text(file, &name, scratch));
	else if (JSON_IS(&event->name, "process_name"))
		foreign_name(file, pid, FOREIGN_PROCESS, kineto_text(file, &name, scratch));
}

/* From a forward op to its backward one; the others say what correlation ids say, too. */
static void add_arrow(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	struct row at = kineto_row(event, ROW_OP);

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
	else if (kineto_own_event(file, event, reading))
		return;
	else if (event->phase == 'X')
		add_complete(file, event, reading);
	else if (JSON_IS(&event->name, "[memory]"))
		add_memory(file, event, reading, false);
	else if (JSON_IS(&event->name, "[OutOfMemory]"))
		add_memory(file, event, reading, true);
}
