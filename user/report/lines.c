/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which frames are the same line, and how a line is called. */
#include "report/lines.h"

#include <stdlib.h>
#include <string.h>

static int compare_code(const struct model_code *a, const struct model_code *b)
{
	int order = strcmp(a->file, b->file);

	return order ? order : strcmp(a->name, b->name);
}

static int by_line(const void *left, const void *right, void *context)
{
	const struct model *model = context;
	const struct model_frame *a = &model->frames[*(const uint32_t *)left];
	const struct model_frame *b = &model->frames[*(const uint32_t *)right];
	int order = a->code == b->code ? 0 : compare_code(&model->codes[a->code], &model->codes[b->code]);

	if (order)
		return order;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int by_base(const void *left, const void *right)
{
	const struct line *a = *(const struct line *const *)left, *b = *(const struct line *const *)right;
	int order = strcmp(path_base(a->file), path_base(b->file));

	return order ? order : strcmp(a->file, b->file);
}

/* Marks the lines whose file is not the only one of its name. */
static void mark_ambiguous(struct line_index *index)
{
	size_t count = index->lines.count;
	struct line **sorted = xmalloc(count * sizeof(struct line *));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &index->lines.items[i];
	qsort(sorted, count, sizeof(struct line *), by_base);
	for (size_t begin = 0, end; begin < count; begin = end) {
		bool differs = false;

		for (end = begin; end < count && !strcmp(path_base(sorted[begin]->file), path_base(sorted[end]->file));
		     end++)
			differs |= strcmp(sorted[begin]->file, sorted[end]->file) != 0;
		for (size_t i = begin; i < end; i++)
			sorted[i]->ambiguous = differs;
	}
	free(sorted);
}

void lines_make(struct line_index *index, const struct model *model)
{
	uint32_t *order = xmalloc(model->frame_count * sizeof(*order));

	*index = (struct line_index){.model = model, .unseen = NONE, .before = NONE};
	index->of_frame = xmalloc(model->frame_count * sizeof(*index->of_frame));
	index->of_thread = xmalloc(model->thread_count * sizeof(*index->of_thread));
	for (uint32_t i = 0; i < model->thread_count; i++)
		index->of_thread[i] = NONE;
	for (uint32_t i = 0; i < model->frame_count; i++)
		order[i] = i;
	qsort_r(order, model->frame_count, sizeof(*order), by_line, (void *)model);
	for (uint32_t i = 0; i < model->frame_count; i++) {
		const struct model_frame *frame = &model->frames[order[i]];
		const struct model_code *code = &model->codes[frame->code];
		struct line line = {.file = code->file, .function = code->name, .number = frame->line};

		if (!i || by_line(&order[i - 1], &order[i], (void *)model))
			array_push(&index->lines, line);
		index->of_frame[order[i]] = (uint32_t)index->lines.count - 1;
	}
	mark_ambiguous(index);
	free(order);
}

void lines_free(struct line_index *index)
{
	for (size_t i = 0; i < index->lines.count; i++)
		free(index->lines.items[i].reason);
	array_free(&index->lines);
	free(index->of_frame);
	free(index->of_thread);
}

static uint32_t add_reason(struct line_index *index, char *reason)
{
	struct line line = {.file = "", .function = "", .reason = reason};

	array_push(&index->lines, line);
	return (uint32_t)index->lines.count - 1;
}

static uint32_t line_of_reason(struct line_index *index, const struct model_call *call)
{
	static const char *const reasons[] = {
		[GPT_STACK_OK] = "no stack",
		[GPT_STACK_NO_PYTHON] = "no Python in the process",
		[GPT_STACK_NO_THREAD] = "not a Python thread",
		[GPT_STACK_EMPTY] = "no Python frame",
		[GPT_STACK_UNREADABLE] = "Python stack could not be read",
		[GPT_STACK_UNKNOWN_LAYOUT] = "Python not supported or not examined yet",
		[GPT_STACK_LOST] = "Python stack was lost",
		[GPT_STACK_BACKWARD] = "Python stack was lost",
		[GPT_STACK_AMBIGUOUS] = "several Python interpreters on one thread",
	};
	const struct model_thread *thread = &index->model->threads[call->thread];
	const char *reason = call->stack_state < sizeof(reasons) / sizeof(reasons[0]) ? reasons[call->stack_state] : "";
	char *text = xasprintf("(thread %s: %s)", thread->name, reason);

	for (size_t i = 0; i < index->lines.count; i++)
		if (index->lines.items[i].reason && !strcmp(index->lines.items[i].reason, text)) {
			free(text);
			return (uint32_t)i;
		}
	return add_reason(index, text);
}

uint32_t line_of_call(struct line_index *index, const struct model_call *call)
{
	const struct model *model = index->model;
	uint32_t *cached = &index->of_thread[call->thread];

	if (call->stack != NONE && model->stacks[call->stack].depth)
		return index->of_frame[model->stack_frames[model->stacks[call->stack].first]];
	/* A thread keeps its first reason: one that began before Python was known is not worth two rows. */
	if (*cached == NONE)
		*cached = line_of_reason(index, call);
	return *cached;
}

uint32_t line_of_index(struct line_index *index, uint32_t call)
{
	if (call != NONE)
		return line_of_call(index, &index->model->calls[call]);
	if (index->unseen == NONE)
		index->unseen = add_reason(index, xstrdup("(call not seen)"));
	return index->unseen;
}

uint32_t line_of_launch(struct line_index *index, const struct model_gpu *op, uint32_t call)
{
	if (call != NONE || !op->before)
		return line_of_index(index, call);
	if (index->before == NONE)
		index->before = add_reason(index, xstrdup("(launched before the trace began)"));
	return index->before;
}

uint32_t line_of_gpu(struct line_index *index, const struct model_gpu *op)
{
	return line_of_launch(index, op, gpu_attributed_call(index->model, op));
}

char *line_place(const struct line_index *index, uint32_t number)
{
	const struct line *line = &index->lines.items[number];
	const char *file;

	if (line->reason)
		return xstrdup(line->reason);
	file = path_base(line->file);
	if (line->ambiguous && file - line->file > 1) {
		file--;
		while (file > line->file && file[-1] != '/')
			file--;
	}
	return line->number ? xasprintf("%s:%u", *file ? file : "?", line->number)
			    : xasprintf("%s", *file ? file : "?");
}

char *line_label(const struct line_index *index, uint32_t number)
{
	char *place = line_place(index, number), *label;

	if (index->lines.items[number].reason)
		return place;
	label = xasprintf("%s %s", place, line_function(index, number));
	free(place);
	return label;
}

const char *line_function(const struct line_index *index, uint32_t number)
{
	return index->lines.items[number].function;
}
