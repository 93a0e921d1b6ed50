/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/tally.h"

/* Leaves that are not a kernel's name. */
#define LEAF_NONE (NONE - 1)
#define LEAF_MEMORY 0x80000000u /* kind, memcpy kind, from, to in the bits below */

#define API_UNSEEN 0x10000u /* no call: the launch was not seen */
#define API_BEFORE 0x10001u /* no call: it was made before the trace began */

struct folded {
	const struct model *model;
	struct tally places; /* process, stack, thread where there is no stack, native */
	struct tally sums;   /* place, api, leaf, frame that was captured; more: an operation with that leaf */
};

struct folded_line {
	char *text;
	uint64_t value;
};

static uint32_t leaf_of(const struct model_gpu *op)
{
	if (op->kind == MODEL_KERNEL)
		return op->name;
	return LEAF_MEMORY | (uint32_t)op->kind << 24 | (uint32_t)op->memcpy_kind << 16 | (uint32_t)op->from << 8 |
	       op->to;
}

#define BORROWED (NONE - 1)  /* in place of a thread: the stack is that of the call to backward() */
#define NOT_KNOWN (1u << 30) /* with a thread: it may have frames, but they are not known */

/* Whom a call without a stack is put under. */
static uint32_t thread_place(const struct model_call *call)
{
	bool none = call->stack_state == GPT_STACK_NO_PYTHON || call->stack_state == GPT_STACK_NO_THREAD ||
		    call->stack_state == GPT_STACK_EMPTY;

	return none ? call->thread : call->thread | NOT_KNOWN;
}

/* The innermost frame of the call that became a graph's node; model.frames, NONE. */
static uint32_t captured_frame(const struct model *model, const struct model_gpu *op)
{
	uint32_t stack = op->captured_by == NONE ? NONE : model->calls[op->captured_by].stack;

	return stack == NONE || !model->stacks[stack].depth ? NONE : model->stack_frames[model->stacks[stack].first];
}

/* call: NONE when the launch was not seen; op: NONE when nothing is known of what ran. */
static void add(struct folded *folded, uint32_t call_index, uint32_t op, uint64_t value)
{
	const struct model *model = folded->model;
	struct tally_key place = {{0, NONE, NONE, NONE}}, key = {{0, API_UNSEEN, LEAF_NONE, NONE}};
	struct tally_entry *entry;

	if (!value)
		return;
	if (call_index != NONE) {
		const struct model_call *call = &model->calls[call_index];

		uint32_t from = call->stack == NONE ? thread_place(call) : NONE;

		if (call->stack_state == GPT_STACK_BACKWARD)
			from = BORROWED;
		place = (struct tally_key){{model->threads[call->thread].process, call->stack, from, call->native}};
		key.part[1] = call->api;
	} else {
		place.part[0] = model->gpu[op].process;
		key.part[1] = model->gpu[op].before ? API_BEFORE : API_UNSEEN;
	}
	if (op != NONE) {
		key.part[2] = leaf_of(&model->gpu[op]);
		key.part[3] = captured_frame(model, &model->gpu[op]);
	}
	entry = tally_at(&folded->places, place);
	key.part[0] = (uint32_t)(entry - folded->places.entries);
	entry = tally_at(&folded->sums, key);
	entry->ns += value;
	entry->more = op;
}

static void add_gpu_times(struct folded *folded, int process)
{
	const struct model *model = folded->model;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if ((process < 0 || model->gpu[i].process == (uint32_t)process) &&
		    model->gpu[i].end_ns > model->gpu[i].start_ns)
			add(folded, model->gpu[i].call, i, model->gpu[i].end_ns - model->gpu[i].start_ns);
}

/* A graph launch has many operations and counts once, without a leaf. */
static void add_launches(struct folded *folded, int process)
{
	const struct model *model = folded->model;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (call_is_work(call) && (process < 0 || model->threads[call->thread].process == (uint32_t)process))
			add(folded, i, call->gpu_count == 1 ? call->first_gpu : NONE, 1);
	}
}

/* Whether text ends in a blank and a number, which flamegraph.pl would take for a count. */
static bool ends_like_count(const char *text, size_t length)
{
	size_t at = length;

	while (at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'))
		at--;
	return at && at < length && text[at - 1] == ' ';
}

/* A frame: separators become `_`. */
static void put_frame(struct sink *out, const char *text)
{
	size_t begin;

	if (out->used)
		sink_char(out, ';');
	begin = out->used;
	for (; *text; text++)
		sink_char(out, *text == ';' || (unsigned char)*text < 0x20 || *text == 0x7f ? '_' : *text);
	if (out->used == begin)
		sink_char(out, '?');
	if (ends_like_count(out->buffer + begin, out->used - begin)) {
		char *blank = memrchr(out->buffer + begin, ' ', out->used - begin);

		*blank = '_';
	}
}

static void put_python_frame(struct sink *out, const struct model *model, uint32_t index, const char *before)
{
	const struct model_frame *frame = &model->frames[index];
	const struct model_code *code = &model->codes[frame->code];
	struct sink text;

	sink_open_memory(&text);
	sink_text(&text, before);
	sink_text(&text, code->name);
	sink_literal(&text, " (");
	sink_text(&text, path_base(code->file));
	sink_char(&text, ':');
	sink_u64(&text, frame->line);
	sink_short(&text, ")", 2); /* with its NUL */
	put_frame(out, text.buffer);
	sink_close(&text);
}

static void put_python(struct sink *out, const struct model *model, const struct model_stack *stack)
{
	/* Without a number: recursions of different depths are to fall together. */
	if (stack->missing && stack->gap == stack->depth)
		put_frame(out, "[cut]");
	for (uint32_t i = stack->depth; i-- > 0;) {
		put_python_frame(out, model, model->stack_frames[stack->first + i], "");
		if (stack->missing && stack->gap == i)
			put_frame(out, "[cut]");
	}
}

static void put_place(struct sink *out, const struct model *model, const struct tally_key *place, uint16_t api)
{
	char text[128];

	put_frame(out, model->processes[place->part[0]].name);
	if (place->part[1] != NONE) {
		put_python(out, model, &model->stacks[place->part[1]]);
		if (place->part[2] == BORROWED)
			put_frame(out, "[backward]");
	} else if (place->part[2] != NONE) {
		snprintf(text, sizeof(text), "thread %.64s (%s)", model->threads[place->part[2] & ~NOT_KNOWN].name,
			 place->part[2] & NOT_KNOWN ? "stack not known" : "no Python");
		put_frame(out, text);
	}
	if (place->part[3] != NONE) {
		const struct model_call call = {.native = place->part[3], .api = api};
		uint32_t first, end;

		model_native_span(model, &call, &first, &end);
		while (end-- > first)
			put_frame(out, model->strings[model->native_frames[model->natives[call.native].first + end]]);
	}
}

static char *line_text(const struct folded *folded, const struct tally_entry *sum)
{
	const struct model *model = folded->model;
	struct sink out;
	char buffer[256], *text;

	sink_open_memory(&out);
	put_place(&out, model, &folded->places.entries[sum->key.part[0]].key, (uint16_t)sum->key.part[1]);
	put_frame(&out, sum->key.part[1] == API_UNSEEN	 ? "[launch not seen]"
			: sum->key.part[1] == API_BEFORE ? "[launched before the trace]"
							 : api_name((uint16_t)sum->key.part[1]));
	if (sum->key.part[3] != NONE)
		put_python_frame(&out, model, sum->key.part[3], "captured at ");
	if (sum->key.part[2] != LEAF_NONE)
		put_frame(&out, gpu_name(model, &model->gpu[sum->more], buffer, sizeof(buffer)));
	sink_char(&out, '\0');
	text = xstrdup(out.buffer);
	sink_close(&out);
	return text;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct folded_line *)left)->text, ((const struct folded_line *)right)->text);
}

static void put_lines(struct sink *sink, const struct folded *folded)
{
	size_t count = folded->sums.count;
	struct folded_line *lines = xmalloc(count * sizeof(*lines));

	for (size_t i = 0; i < count; i++)
		lines[i] =
			(struct folded_line){line_text(folded, &folded->sums.entries[i]), folded->sums.entries[i].ns};
	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && !strcmp(lines[i].text, lines[i + 1].text)) {
			lines[i + 1].value += lines[i].value;
		} else {
			sink_text(sink, lines[i].text);
			sink_char(sink, ' ');
			sink_u64(sink, lines[i].value);
			sink_char(sink, '\n');
		}
		free(lines[i].text);
	}
	free(lines);
}

int folded_write(struct sink *sink, const struct model *model, const struct export_options *options)
{
	struct folded folded = {.model = model};

	if (options->by_launches || !model->gpu_count)
		add_launches(&folded, options->process);
	else
		add_gpu_times(&folded, options->process);
	put_lines(sink, &folded);
	tally_free(&folded.places);
	tally_free(&folded.sums);
	return 0;
}
