/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/kineto/kineto_event.h"

#include <string.h>

#include "input/kineto/kineto_row.h"
#include "input/names.h"
#include "input/rows/row_ranges.h"

#define OUTERMOST UINT64_MAX

/* ---- the head ---------------------------------------------------------------------------------------------------- */

/* "3.12" */
static uint32_t python_of(const struct json_text *text)
{
	uint32_t numbers[2] = {0}, which = 0;

	for (size_t i = 0; i < text->size && which < 2; i++) {
		if (text->bytes[i] == '.')
			which++;
		else if (text->bytes[i] >= '0' && text->bytes[i] <= '9' && numbers[which] < 100)
			numbers[which] = 10 * numbers[which] + (uint32_t)(text->bytes[i] - '0');
	}
	return numbers[0] && numbers[0] < 256 && numbers[1] < 256 ? numbers[0] << 8 | numbers[1] : 0;
}

static bool read_process(struct json *json, struct foreign_file *file, text_buffer *scratch)
{
	uint32_t command = ROW_NO_TEXT, python = 0;
	int64_t pid = 0, began_ns = 0;
	struct json_text key, text;
	bool first = true;

	while (json_member(json, &first, &key)) {
		bool read;

		if (JSON_IS(&key, "shown as")) {
			read = json_number(json, 0, 0, &pid);
		} else if (JSON_IS(&key, "began_ns")) {
			read = json_number(json, 0, 0, &began_ns);
		} else if (JSON_IS(&key, "command") && json_peek(json) == '"') {
			read = json_string(json, &text);
			command = read ? kineto_text(file, &text, scratch) : command;
		} else if (JSON_IS(&key, "python") && json_peek(json) == '"') {
			read = json_string(json, &text);
			python = read ? python_of(&text) : 0;
		} else {
			read = json_skip(json);
		}
		if (!read)
			return false;
	}
	pid = kineto_own_pid(pid);
	if (!json->stopped && kineto_id(pid)) {
		foreign_process(file, kineto_id(pid))->command = command;
		foreign_process(file, kineto_id(pid))->python = python;
		foreign_process(file, kineto_id(pid))->start_ns = began_ns > 0 ? (uint64_t)began_ns : 0;
	}
	return !json->stopped;
}

static bool read_processes(struct json *json, struct foreign_file *file, text_buffer *scratch)
{
	bool first = true;

	if (json_peek(json) != '[')
		return json_skip(json);
	while (json_element(json, &first))
		if (json_peek(json) != '{' ? !json_skip(json) : !read_process(json, file, scratch))
			return false;
	return !json->stopped;
}

#define FORM "gputrace (a Chrome trace)"

bool kineto_own_head(struct json *json, struct foreign_file *file, text_buffer *scratch)
{
	struct json_text key, text;
	bool first = true;
	int64_t ns;

	foreign_set_form(file, FORM, (struct text){0});
	/* lines are in the stacks; functions are drawn from those */
	file->prefers_stacks = true;
	while (json_member(json, &first, &key)) {
		if (JSON_IS(&key, "recorded_ns")) {
			if (!json_number(json, 0, 0, &ns))
				return false;
			/* times count from the start */
			file->has_span = ns > 0;
			file->end_ns = ns > 0 ? (uint64_t)ns : 0;
		} else if (JSON_IS(&key, "recorded_by") && json_peek(json) == '"') {
			if (!json_string(json, &text))
				return false;
			foreign_set_form(file, FORM, (struct text){text.bytes, text.size});
		} else if (JSON_IS(&key, "processes") ? !read_processes(json, file, scratch) : !json_skip(json)) {
			return false;
		}
	}
	return !json->stopped;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void add_range(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		      struct row row)
{
	struct kineto_own *own = &reading->own;
	const struct json_text *kind = &event->range_kind;
	struct row_range range = {.row = row, .id = ++own->ranges, .named = ROW_NO_TEXT};
	uint32_t *domain;

	range.row.text = kineto_text(file, &event->name, &reading->scratch);
	range.what = (uint8_t)(JSON_IS(kind, "mark")	    ? ROW_RANGE_MARK
			       : JSON_IS(kind, "push, pop") ? ROW_RANGE_PUSH
							    : ROW_RANGE_START);
	if (event->domain.size) {
		range.named = kineto_text(file, &event->domain, &reading->scratch);
		domain = lookup_put(&own->domains, 1, range.named, (uint32_t)own->domains.count + 1);
		range.domain = (uint16_t)(*domain <= UINT16_MAX ? *domain : 0);
	}
	/* a range whose end was not seen lasts as long as its process */
	row_ranges_add(&file->rows, &range, true);
}

static void add_pause(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		      struct row row, bool is_import)
{
	int64_t generation = event->numbers[KINETO_GENERATION];
	struct row_pause pause = {.row = row,
				  .frame = OUTERMOST - row.start_ns,
				  .generation = generation >= 0 && generation < 16 ? (int32_t)generation : -1,
				  .is_import = is_import};

	pause.row.kind = ROW_PAUSE;
	pause.row.text = is_import ? kineto_text(file, &event->module, &reading->scratch) : ROW_NO_TEXT;
	pause.row.end_ns = pause.row.start_ns;
	rows_add(&file->rows, &pause.row, sizeof(pause));
	if (event->unfinished)
		return;
	pause.row.kind = ROW_PAUSE_END;
	pause.row.start_ns = pause.row.end_ns = row.end_ns > row.start_ns ? row.end_ns : row.start_ns + 1;
	rows_add(&file->rows, &pause.row, sizeof(pause));
}

static void add_memory(struct foreign_file *file, const struct kineto_event *event, struct row row)
{
	struct row_cuda_memory memory = {.row = row};
	int64_t bytes = event->numbers[KINETO_BYTES], address = event->numbers[KINETO_ADDRESS];

	if (bytes == KINETO_NO_NUMBER || !memory.row.pid) {
		file->bad[memory.row.pid ? BAD_VALUE : BAD_OWNER]++;
		return;
	}
	foreign_process(file, memory.row.pid);
	memory.row.kind = ROW_CUDA_MEMORY;
	memory.row.corr = kineto_id(event->numbers[KINETO_OF_CALL]);
	memory.memory = (struct gpt_agent_memory){
		.operation = (bytes < 0 ? GPT_AGENT_MEMORY_RELEASED : GPT_AGENT_MEMORY_ALLOCATED),
		.address = (address > 0 ? (uint64_t)address : 0),
		.bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
		.device = kineto_id(event->numbers[KINETO_DEVICE_ID]),
		.kind = name_to_memory(event->memory_kind.bytes, event->memory_kind.size),
	};
	rows_add(&file->rows, &memory.row, sizeof(memory));
}

bool kineto_own_event(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading)
{
	bool is_gc = JSON_IS(&event->category, "python_gc"), is_import = JSON_IS(&event->category, "python_import");
	struct row row = kineto_row(event, ROW_RANGE);

	row.tid = kineto_id(event->numbers[KINETO_THREAD]);
	if (event->memory_kind.size && JSON_BEGINS(&event->category, "cpu_instant_event")) {
		add_memory(file, event, row);
		return true;
	}
	if (!event->range_kind.size && !is_gc && !is_import)
		return false;
	if (!row.pid || !row.tid) {
		file->bad[BAD_OWNER]++;
		return true;
	}
	foreign_thread(file, row.pid, row.tid);
	if (event->range_kind.size)
		add_range(file, event, reading, row);
	else
		add_pause(file, event, reading, row, is_import);
	return true;
}

bool kineto_own_step(const struct kineto_event *event, struct kineto_own *own)
{
	bool may_be = JSON_IS(&event->category, "user_annotation") && JSON_BEGINS(&event->name, "ProfilerStep#");

	own->has_ops |= !may_be;
	own->steps += may_be;
	own->one_is_first = may_be && own->steps == 1 && JSON_IS(&event->name, "ProfilerStep#0");
	return may_be;
}

void kineto_own_call(const struct kineto_event *event, struct row_call *call)
{
	int64_t result = event->numbers[KINETO_RESULT];

	call->result = result >= INT32_MIN && result <= INT32_MAX ? (int32_t)result : 0;
	call->unfinished = event->unfinished;
	call->inherited = event->inherited;
	call->captured = event->captured;
}

void kineto_own_gpu(struct foreign_file *file, const struct kineto_event *event, struct row_gpu *gpu)
{
	struct model_gpu *work = &gpu->work;
	int64_t of_all = event->numbers[KINETO_STATIC_SHARED], local = event->numbers[KINETO_LOCAL];

	if (of_all >= 0 && of_all <= work->dynamic_shared_bytes) {
		work->static_shared_bytes = (uint32_t)of_all;
		work->dynamic_shared_bytes -= (uint32_t)of_all;
		work->local_bytes = kineto_id(local);
		work->unknown &= (uint8_t) ~(MODEL_GPU_NO_STATIC_SHARED | MODEL_GPU_NO_LOCAL);
	}
	if (event->numbers[KINETO_CUPTI_STREAM] >= 0)
		work->stream = kineto_id(event->numbers[KINETO_CUPTI_STREAM]);
	if (work->graph_node && kineto_id(event->numbers[KINETO_CAPTURED_BY]))
		foreign_node(file, 0, work->graph_node, kineto_id(event->numbers[KINETO_CAPTURED_BY]));
}

/* ---- the end of the file --------------------------------------------------------------------------------------------
 */

/* Removes the word that gputrace puts before names that consumers would take for steps of torch.profiler. */
static void bare_names(struct rows *rows)
{
	static const char *const words[] = {"NVTX ", "torch "};

	array_each (text, &rows->texts) {
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
			size_t length = strlen(words[w]);

			if (text->size <= length + strlen("ProfilerStep") || memcmp(text->bytes, words[w], length) ||
			    memcmp(text->bytes + length, "ProfilerStep", strlen("ProfilerStep")))
				continue;
			text->bytes += length;
			text->size -= length;
			break;
		}
	}
}

/*
 * Steps that gputrace found in ops are found again. A single step with the number 0 stands for the whole trace, in
 * which none were found. Other steps were found in events that the file does not have as such (--step), and are
 * reported as torch.profiler's.
 */
void kineto_own_finish(struct kineto_own *own, struct foreign_file *file)
{
	lookup_free(&own->domains);
	if (file->prefers_stacks) {
		file->drops_steps = own->has_ops || (own->steps == 1 && own->one_is_first);
		bare_names(&file->rows);
	}
	for (size_t i = 0; own->steps && !file->drops_steps && i < file->processes.count; i++)
		file->processes.items[i].has_ops = true;
}
