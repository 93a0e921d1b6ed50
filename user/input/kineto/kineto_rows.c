/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts an event of a Kineto trace to a row, by its category. */
#include <string.h>

#include "input/kineto/kineto_event.h"
#include "input/kineto/kineto_row.h"
#include "input/names.h"
#include "input/rows/row_captures.h"

#define NS_MAX (INT64_MAX / 4) /* some 73 years: later times are invalid */

/* ---- on a thread ------------------------------------------------------------------------------------------------- */

/* False: not on a thread of a process; counts as bad. */
static bool on_thread(struct foreign_file *file, struct row *row)
{
	static const char none[] = "threads without a number";

	if (!row->pid) {
		file->bad[BAD_OWNER]++;
		return false;
	}
	if (!row->tid) {
		row->tid = KINETO_NO_THREAD;
		foreign_name(file, row->pid, row->tid, rows_text(&file->rows, none, sizeof(none) - 1));
	}
	return true;
}

/* Joins the four arrays; an older PyTorch has two of them. */
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

/*
 * Kineto gives the node's numbers to the op around it.  They are left out: the model sets them, and the node, as for a
 * log.
 */
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

	if (!on_thread(file, &op.row))
		return;
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

/* torch.autograd calls PyTorch's engine through this function, for any kind of pass. */
static bool is_backward(const struct json_text *name)
{
	return JSON_BEGINS(name, "<built-in method run_backward of torch._C._EngineBase object");
}

/* Calls of C functions and of modules are not frames of their own. */
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
		reading->lost_functions++;
		return;
	}
	function.row.text = kineto_text(file, &event->name, &reading->scratch);
	kineto_stacks_note(&reading->stacks, file, function.row.text);
	if (JSON_IS(&event->from, "snapshots")) /* drawn from stacks, which are read as such */
		return;
	foreign_thread(file, function.row.pid, function.row.tid);
	rows_add(&file->rows, &function.row, sizeof(function));
	leave = function.row;
	leave.kind = ROW_LEAVE;
	leave.start_ns = leave.end_ns;
	rows_add(&file->rows, &leave, sizeof(leave));
}

static uint16_t api_of(const struct foreign_file *file, const struct kineto_event *event,
		       struct kineto_reading *reading, enum gpt_api_domain domain)
{
	const struct json_text *name = &event->name;
	uint16_t api = name_to_api(name->bytes, name->size, domain, event->numbers[KINETO_CBID]);
	uint64_t hash;
	uint32_t *known;

	if (api)
		return api;
	hash = hash_bytes(hash_seed(), name->bytes, name->size);
	known = lookup_put(&reading->apis, 1, hash, 0);
	if (!*known)
		*known = name_to_any_api(name->bytes, name->size);
	return (uint16_t)*known;
}

static void add_call(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		     enum gpt_api_domain domain)
{
	struct row_call call = {.row = kineto_row(event, ROW_CALL)};

	call.api = api_of(file, event, reading, domain);
	if (!on_thread(file, &call.row))
		return;
	call.stack = kineto_stack(&reading->stacks, file, &event->call_stack, &reading->scratch);
	kineto_own_call(event, &call);
	foreign_thread(file, call.row.pid, call.row.tid);
	row_captures_add_call(file, &call);
}

/* c10::DeviceType (c10/core/DeviceType.h) of devices with memory of their own that kernels work on: a GPU each. */
static bool is_gpu(int64_t type)
{
	static const int8_t types[] = {GPT_TORCH_CUDA, 6 /* HIP */, 12 /* XPU */, 13 /* MPS */, 15 /* HPU */,
				       19 /* MTIA */,  20 /* PrivateUse1 */};

	return type > 0 && type <= INT8_MAX && memchr(types, (int)type, sizeof(types));
}

static void add_memory(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		       bool out)
{
	struct row_memory memory = {.row = kineto_row(event, ROW_MEMORY)};
	int64_t bytes = event->numbers[KINETO_BYTES], device = event->numbers[KINETO_DEVICE_ID],
		type = event->numbers[KINETO_DEVICE_TYPE];

	reading->read = true;
	if (event->numbers[KINETO_ADDRESS] == KINETO_NO_NUMBER && !out) {
		reading->lost_memories++;
		return;
	}
	if (bytes == KINETO_NO_NUMBER) {
		file->bad[BAD_VALUE]++;
		return;
	}
	if (!on_thread(file, &memory.row))
		return;
	memory.memory = (struct gpt_agent_torch_memory){
		.address = kineto_wide(event, KINETO_ADDRESS),
		.bytes = bytes,
		.allocated = kineto_wide(event, KINETO_ALLOCATED),
		.reserved = kineto_wide(event, KINETO_RESERVED),
		.kind = out	    ? GPT_AGENT_TORCH_MEMORY_OUT
			: bytes < 0 ? GPT_AGENT_TORCH_MEMORY_FREED
				    : GPT_AGENT_TORCH_MEMORY_ALLOCATED,
		.device_type = (int8_t)(is_gpu(type)			? GPT_TORCH_CUDA
					: type >= 0 && type <= INT8_MAX ? type
									: GPT_TORCH_CPU),
		.device = (int8_t)(device >= -1 && device <= INT8_MAX ? device : -1),
		.has_totals = event->numbers[KINETO_RESERVED] != KINETO_NO_NUMBER,
	};
	foreign_thread(file, memory.row.pid, memory.row.tid);
	foreign_process(file, memory.row.pid)->has_torch_memory = true;
	memory.stack = kineto_stack(&reading->stacks, file, &event->call_stack, &reading->scratch);
	rows_add(&file->rows, &memory.row, sizeof(memory));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

enum category {
	CATEGORY_OTHER, /* not read */
	CATEGORY_OP,
	CATEGORY_OLD_OP,
	CATEGORY_USER_SCOPE,
	CATEGORY_FUNCTION,
	CATEGORY_RUNTIME,
	CATEGORY_DRIVER,
	CATEGORY_KERNEL,
	CATEGORY_MEMCPY,
	CATEGORY_MEMSET,
	CATEGORY_SYNC,
	CATEGORY_OVERHEAD,
	CATEGORY_TRACE,
};

/* Categories of PyTorch 1.8 to 1.11, and of accelerators other than CUDA. */
static enum category other_category(const struct json_text *text)
{
	static const struct {
		const char *name;
		enum category category;
	} names[] = {
		{"Operator", CATEGORY_OLD_OP}, {"Runtime", CATEGORY_RUNTIME},	     {"Kernel", CATEGORY_KERNEL},
		{"Memcpy", CATEGORY_MEMCPY},   {"Memset", CATEGORY_MEMSET},	     {"Python", CATEGORY_FUNCTION},
		{"hpu_op", CATEGORY_KERNEL},   {"mtia_ccp_events", CATEGORY_KERNEL},
	};
	static const char runtime[] = "_runtime", driver[] = "_driver";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_is(text, names[i].name, strlen(names[i].name)))
			return names[i].category;
	/* xpu_, mtia_, hpu_, privateuse1_ */
	if (text->size >= sizeof(runtime) &&
	    !memcmp(text->bytes + text->size - (sizeof(runtime) - 1), runtime, sizeof(runtime) - 1))
		return CATEGORY_RUNTIME;
	if (text->size >= sizeof(driver) &&
	    !memcmp(text->bytes + text->size - (sizeof(driver) - 1), driver, sizeof(driver) - 1))
		return CATEGORY_DRIVER;
	return CATEGORY_OTHER;
}

static enum category category_of(const struct json_text *text)
{
	return JSON_IS(text, "cpu_op")		  ? CATEGORY_OP
	       : JSON_IS(text, "user_annotation") ? CATEGORY_USER_SCOPE
	       : JSON_IS(text, "python_function") ? CATEGORY_FUNCTION
	       : JSON_IS(text, "cuda_runtime")	  ? CATEGORY_RUNTIME
	       : JSON_IS(text, "cuda_driver")	  ? CATEGORY_DRIVER
	       : JSON_IS(text, "kernel")	  ? CATEGORY_KERNEL
	       : JSON_IS(text, "gpu_memcpy")	  ? CATEGORY_MEMCPY
	       : JSON_IS(text, "gpu_memset")	  ? CATEGORY_MEMSET
	       : JSON_IS(text, "cuda_sync")	  ? CATEGORY_SYNC
	       : JSON_IS(text, "overhead")	  ? CATEGORY_OVERHEAD
	       : JSON_IS(text, "Trace")		  ? CATEGORY_TRACE
						  : other_category(text);
}

static void note_span(struct foreign_file *file, const struct kineto_event *event)
{
	if (event->duration_ns <= 0)
		return;
	file->start_ns = (uint64_t)event->start_ns;
	file->end_ns = (uint64_t)(event->start_ns + event->duration_ns);
}

/* Counts events that are not read, by category: for a file that has no others. */
static void count_unread(struct kineto_reading *reading, const struct json_text *category)
{
	struct kineto_unread *unread = reading->unread;
	size_t size = category->size < KINETO_UNREAD_NAME ? category->size : KINETO_UNREAD_NAME - 1, i = 0;

	if (reading->read)
		return;
	while (i < KINETO_UNREAD - 1 && unread[i].count &&
	       (strlen(unread[i].name) != size || memcmp(unread[i].name, category->bytes, size) != 0))
		i++;
	if (!unread[i].count++)
		memcpy(unread[i].name, category->bytes, size);
}

/* Traces that were appended have calls of one process after those of the other. */
static void note_caller(struct foreign_file *file, struct kineto_reading *reading, uint32_t pid)
{
	uint32_t *known;

	if (pid == reading->calling_pid)
		return;
	known = lookup_put(&reading->callers, foreign_epoch(pid), 0, 0);
	file->is_mixed |= *known != 0;
	*known = 1;
	reading->calling_pid = pid;
}

static void add_complete(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	enum category category = category_of(&event->category);

	if (category >= CATEGORY_OP && category <= CATEGORY_DRIVER && kineto_id(event->pid))
		reading->near_pid = kineto_id(event->pid);
	if ((category == CATEGORY_RUNTIME || category == CATEGORY_DRIVER) && kineto_id(event->pid))
		note_caller(file, reading, kineto_id(event->pid));
	switch (category) {
	case CATEGORY_OP:
		add_op(file, event, reading, GPT_AGENT_OP_FUNCTION);
		break;
	case CATEGORY_OLD_OP:
		add_op(file, event, reading,
		       JSON_BEGINS(&event->name, "ProfilerStep") ? GPT_AGENT_OP_USER_SCOPE : GPT_AGENT_OP_FUNCTION);
		break;
	case CATEGORY_USER_SCOPE:
		add_op(file, event, reading, GPT_AGENT_OP_USER_SCOPE);
		break;
	case CATEGORY_FUNCTION:
		add_function(file, event, reading);
		break;
	case CATEGORY_RUNTIME:
		add_call(file, event, reading, GPT_DOMAIN_RUNTIME);
		break;
	case CATEGORY_DRIVER:
		add_call(file, event, reading, GPT_DOMAIN_DRIVER);
		break;
	case CATEGORY_KERNEL:
		kineto_add_gpu(file, event, reading, MODEL_KERNEL);
		break;
	case CATEGORY_MEMCPY:
		kineto_add_gpu(file, event, reading, MODEL_MEMCPY);
		break;
	case CATEGORY_MEMSET:
		kineto_add_gpu(file, event, reading, MODEL_MEMSET);
		break;
	case CATEGORY_SYNC:
		kineto_add_sync(file, event, reading);
		break;
	case CATEGORY_OVERHEAD:
		kineto_add_overhead(file, event);
		break;
	case CATEGORY_TRACE:
		note_span(file, event);
		break;
	case CATEGORY_OTHER:
		count_unread(reading, &event->category);
		return;
	}
	reading->read = true;
}

/* The text in the brackets of "thread 41230 (python3)". */
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

/* "GPU 1", "stream 7 ": a GPU or a stream, whose numbers a process and its threads may have, too. */
static bool names_gpu(const struct json_text *text)
{
	static const char *const words[] = {"GPU ", "stream "};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]), at = length;

		if (!json_begins(text, words[i], length))
			continue;
		while (at < text->size && text->bytes[at] >= '0' && text->bytes[at] <= '9')
			at++;
		if (at > length && (at == text->size || text->bytes[at] == ' '))
			return true;
	}
	return false;
}

static void add_metadata(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	text_buffer *scratch = &reading->scratch;
	uint32_t pid = kineto_id(event->pid), tid = kineto_thread(event->tid);
	struct json_text name = own_name(event->text);

	reading->is_xla |= JSON_BEGINS(&event->text, "/device:") || JSON_BEGINS(&event->text, "/host:") ||
			   JSON_BEGINS(&event->text, "/job:");
	if (!pid || !event->text.size || names_gpu(&event->text))
		return;
	if (JSON_IS(&event->name, "thread_name") && tid)
		foreign_name(file, pid, tid, kineto_text(file, &name, scratch));
	else if (JSON_IS(&event->name, "process_name"))
		foreign_name(file, pid, FOREIGN_PROCESS, kineto_text(file, &name, scratch));
}

/* Adds an arrow from a forward op to its backward op; other arrows repeat what correlation ids say. */
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
		add_metadata(file, event, reading);
		return;
	}
	if (event->phase != 'X' && event->phase != 'i' && event->phase != 'I' && !is_arrow)
		return;
	if (event->start_ns < 0 || event->start_ns > NS_MAX || event->duration_ns < 0 || event->duration_ns > NS_MAX) {
		file->bad[BAD_TIME] += !is_arrow;
		return;
	}
	if (is_arrow)
		add_arrow(file, event, reading);
	else if (kineto_own_event(file, event, reading))
		reading->read = true;
	else if (event->phase == 'X')
		add_complete(file, event, reading);
	else if (JSON_IS(&event->name, "[memory]"))
		add_memory(file, event, reading, false);
	else if (JSON_IS(&event->name, "[OutOfMemory]"))
		add_memory(file, event, reading, true);
}
