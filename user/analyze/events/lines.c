/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which frames are the same line, and the names of lines. */
#include "analyze/events/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"
#include "base/order.h"
#include "base/path.h"

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
	const struct model_code *of_a = &model->codes[a->code], *of_b = &model->codes[b->code];

	return (of_a == of_b ? 0 : compare_code(of_a, of_b)) ?:
	       least_first(a->line, b->line) ?:
	       (a->line ? 0 : least_first(of_a->first_line, of_b->first_line));
}

DEFINE_ORDER(by_base, struct line *const,
	     strcmp(path_base((*a)->file), path_base((*b)->file)) ?: strcmp((*a)->file, (*b)->file))

/* Marks lines whose file shares its name with another file. */
static void mark_ambiguous(struct lines *lines)
{
	size_t count = lines->all.count;
	struct line **sorted = xmalloc(count * sizeof(struct line *));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &lines->all.items[i];
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

DEFINE_ORDER(by_place, struct model_generated_line *const,
	     strcmp((*a)->file, (*b)->file) ?: least_first((*a)->line, (*b)->line))

DEFINE_ORDER(by_place_and_time, struct model_generated_line *const, by_place(a, b) ?: lower_first(*a, *b))

/* Gives each generated line the latest report about it. */
static void find_what_they_say(struct lines *lines)
{
	const struct model *model = lines->callers->model;
	uint32_t reported = model->generated_line_count, places = 0;
	const struct model_generated_line **sorted = xmalloc(reported * sizeof(*sorted));

	for (uint32_t i = 0; i < reported; i++)
		sorted[i] = &model->generated_lines[i];
	qsort(sorted, reported, sizeof(*sorted), by_place_and_time);
	for (uint32_t i = 0; i < reported; i++)
		if (i + 1 == reported || by_place(&sorted[i], &sorted[i + 1]))
			sorted[places++] = sorted[i];
	for (size_t i = 0; places && i < lines->all.count; i++) {
		struct line *line = &lines->all.items[i];
		struct model_generated_line key = {.file = line->file, .line = line->number};
		const struct model_generated_line *place = &key, **found;

		if (!line->generated)
			continue;
		found = bsearch(&place, sorted, places, sizeof(*sorted), by_place);
		line->says = found ? *found : NULL;
	}
	free(sorted);
}

static int by_exe(const void *left, const void *right, void *model)
{
	const struct model_process *processes = ((const struct model *)model)->processes;

	return strcmp(processes[*(const uint32_t *)left].exe, processes[*(const uint32_t *)right].exe);
}

/* Processes of one file, from order[0] on: if one has no Python, and none has, they are all without. */
static void spread_no_python(struct lines *lines, const uint32_t *order, uint32_t count)
{
	const struct model_process *processes = lines->callers->model->processes;
	bool none = false, some = !*processes[*order].exe;

	for (uint32_t i = 0; i < count; i++) {
		none |= lines->no_python[order[i]];
		some |= processes[order[i]].python != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		lines->no_python[order[i]] = none && !some;
}

/* A child such as `git` may end before it is examined; others of the same program were. */
static void find_no_python(struct lines *lines)
{
	const struct model *model = lines->callers->model;
	const struct tally *reasons = &lines->callers->no_frame;
	uint32_t *order = xmalloc(model->process_count * sizeof(*order)), first = 0;

	lines->no_python = xcalloc(model->process_count + 1, sizeof(*lines->no_python));
	for (size_t i = 0; i < reasons->count; i++)
		if (reasons->entries[i].key.part[1] == GPT_STACK_NO_PYTHON)
			lines->no_python[model->threads[reasons->entries[i].key.part[0]].process] = true;
	for (uint32_t i = 0; i < model->process_count; i++)
		order[i] = i;
	qsort_r(order, model->process_count, sizeof(*order), by_exe, (void *)model);
	for (uint32_t i = 1; i <= model->process_count; i++)
		if (i == model->process_count || by_exe(&order[first], &order[i], (void *)model)) {
			spread_no_python(lines, order + first, i - first);
			first = i;
		}
	free(order);
}

void lines_make(struct lines *lines, const struct callers *callers)
{
	const struct model *model = callers->model;
	AUTO_FREE uint32_t *order = xmalloc(model->frame_count * sizeof(*order));

	*lines = (struct lines){.callers = callers, .unseen = NONE, .before = NONE, .driver = NONE};
	lines->of_frame = xmalloc(model->frame_count * sizeof(*lines->of_frame));
	lines->of_thread = xmalloc(model->thread_count * sizeof(*lines->of_thread));
	for (uint32_t i = 0; i < model->thread_count; i++)
		lines->of_thread[i] = NONE;
	for (uint32_t i = 0; i < model->frame_count; i++)
		order[i] = i;
	qsort_r(order, model->frame_count, sizeof(*order), by_line, (void *)model);
	for (uint32_t i = 0; i < model->frame_count; i++) {
		const struct model_frame *frame = &model->frames[order[i]];
		const struct model_code *code = &model->codes[frame->code];
		struct line line = {.file = code->file,
				    .function = code->name,
				    .number = frame->line,
				    .first_line = frame->line || !model_is_foreign(model) ? 0 : code->first_line};

		if (!i || by_line(&order[i - 1], &order[i], (void *)model)) {
			line.library = file_is_library(line.file);
			line.generated = file_is_generated(line.file);
			array_push(&lines->all, line);
		}
		lines->of_frame[order[i]] = (uint32_t)lines->all.count - 1;
	}
	mark_ambiguous(lines);
	find_no_python(lines);
	find_what_they_say(lines);
}

void lines_free(struct lines *lines)
{
	for (size_t i = 0; i < lines->all.count; i++)
		free(lines->all.items[i].reason);
	array_free(&lines->all);
	free(lines->of_frame);
	free(lines->of_thread);
	free(lines->of_string);
	free(lines->no_python);
}

static uint32_t add_reason(struct lines *lines, char *reason)
{
	struct line line = {.file = "", .function = "", .reason = reason, .library = true};

	array_push(&lines->all, line);
	return (uint32_t)lines->all.count - 1;
}

const char *line_reason(uint32_t stack_state)
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
		[GPT_STACK_NOT_RECORDED] = "Python stack not recorded",
		[GPT_STACK_FILTERED] = "Python stack not read, as the program filters its system calls",
		[GPT_STACK_LOWERED] = "Python stack not recorded: detail lowered",
	};

	return stack_state < sizeof(reasons) / sizeof(reasons[0]) ? reasons[stack_state] : "";
}

static uint32_t line_of_reason(struct lines *lines, uint32_t thread, uint32_t stack_state)
{
	const struct model_thread *of = &lines->callers->model->threads[thread];
	bool not_examined = stack_state == GPT_STACK_UNKNOWN_LAYOUT || stack_state == GPT_STACK_UNREADABLE;
	uint32_t state = not_examined && lines->no_python[of->process] ? GPT_STACK_NO_PYTHON : stack_state;
	char *text = xasprintf("(thread %s: %s)", of->name, line_reason(state));

	for (size_t i = 0; i < lines->all.count; i++)
		if (lines->all.items[i].reason && !strcmp(lines->all.items[i].reason, text)) {
			free(text);
			return (uint32_t)i;
		}
	return add_reason(lines, text);
}

static uint32_t line_of_enclosing(struct lines *lines, uint32_t string)
{
	const struct model *model = lines->callers->model;

	if (!lines->of_string) {
		lines->of_string = xmalloc(model->string_count * sizeof(*lines->of_string));
		memset(lines->of_string, 0xff, model->string_count * sizeof(*lines->of_string));
	}
	if (lines->of_string[string] == NONE)
		lines->of_string[string] = add_reason(lines, xasprintf("(in %s)", model->strings[string]));
	return lines->of_string[string];
}

/* A thread keeps its first reason, so that one that began before Python was known does not get two rows. */
static uint32_t line_without_frame(struct lines *lines, const struct tally_key *no_frame)
{
	uint32_t *line = &lines->of_thread[no_frame->part[0]];

	if (no_frame->part[2] != NONE)
		return line_of_enclosing(lines, no_frame->part[2]);
	if (*line == NONE)
		*line = line_of_reason(lines, no_frame->part[0], no_frame->part[1]);
	return *line;
}

uint32_t line_of(struct lines *lines, uint32_t caller)
{
	switch (caller) {
	case CALLER_UNSEEN:
		if (lines->unseen == NONE)
			lines->unseen = add_reason(lines, xstrdup("(call not seen)"));
		return lines->unseen;
	case CALLER_BEFORE:
		if (lines->before == NONE)
			lines->before = add_reason(lines, xstrdup("(launched before the trace began)"));
		return lines->before;
	case CALLER_DRIVER:
		if (lines->driver == NONE)
			lines->driver = add_reason(lines, xstrdup("(managed memory, moved by the driver)"));
		return lines->driver;
	default:
		if (caller < CALLER_NO_FRAME)
			return lines->of_frame[caller];
		return line_without_frame(lines, &lines->callers->no_frame.entries[caller & ~CALLER_NO_FRAME].key);
	}
}

struct place_lines lines_of_place(struct lines *lines, uint32_t place)
{
	const struct model *model = lines->callers->model;
	struct place_lines found = {NONE, NONE, NONE};
	const struct model_stack *stack;

	if (place >= CALLER_NO_FRAME) {
		found.line = line_of(lines, place);
		return found;
	}
	stack = &model->stacks[place];
	found.line = line_of(lines, model->stack_frames[stack->first]);
	if (!line_is_library(lines, found.line))
		return found;
	for (uint32_t i = 1; i < stack->depth && found.user_line == NONE; i++) {
		uint32_t line = line_of(lines, model->stack_frames[stack->first + i]);

		if (!line_is_library(lines, line))
			found.user_line = line;
		else if (found.generated == NONE && lines->all.items[line].generated)
			found.generated = line;
	}
	return found;
}

uint32_t lines_caller_of_place(struct lines *lines, uint32_t place)
{
	const struct model *model = lines->callers->model;
	const struct model_stack *stack;
	uint32_t own = 0;

	if (place >= CALLER_NO_FRAME)
		return NONE;
	stack = &model->stacks[place];
	for (uint32_t i = 0; i < stack->depth; i++) {
		uint32_t line = line_of(lines, model->stack_frames[stack->first + i]);

		if (!line_is_library(lines, line) && own++)
			return line;
	}
	return NONE;
}

struct tally tally_by_line(struct lines *lines, const struct tally *sums, unsigned part)
{
	struct tally by_line = {0};

	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];
		struct tally_key key = sum->key;
		struct tally_entry *entry;

		key.part[part] = line_of(lines, key.part[part]);
		entry = tally_at(&by_line, key);
		entry->ns += sum->ns;
		entry->count += sum->count;
		entry->more += sum->more;
	}
	return by_line;
}

char *line_place(const struct lines *lines, uint32_t number)
{
	const struct line *line = &lines->all.items[number];
	const char *file;

	if (line->reason)
		return xstrdup(line->reason);
	file = path_base(line->file);
	if (line->ambiguous && file - line->file > 1) {
		file--;
		while (file > line->file && file[-1] != '/')
			file--;
	}
	return line_shown(line) ? xasprintf("%s:%u", *file ? file : "?", line_shown(line))
				: xasprintf("%s", *file ? file : "?");
}

char *line_short_place(const struct lines *lines, uint32_t number)
{
	const struct line *line = &lines->all.items[number];
	char *place = generated_name_shorten(path_base(line->file), line->number);

	return place ? place : line_place(lines, number);
}

/* Where a kernel's function is; only a name that the compiler made is shortened. */
static char *kernel_place(const struct model_generated_line *says)
{
	const char *file = path_base(says->kernel_file);
	char *place;

	if (!*file)
		return xstrdup("");
	place = file_is_generated(says->kernel_file) ? generated_name_shorten(file, says->kernel_line) : NULL;
	if (place)
		return place;
	return says->kernel_line ? xasprintf("%s:%u", file, says->kernel_line) : xstrdup(file);
}

char *line_made_of(const struct lines *lines, uint32_t number)
{
	const struct model_generated_line *says = lines->all.items[number].says;

	if (!says || (!*says->nodes && !*says->ops))
		return NULL;
	if (!*says->nodes || !*says->ops)
		return xasprintf("%s%s", says->nodes, says->ops);
	return xasprintf("%s (%s)", says->nodes, says->ops);
}

char *line_launches(const struct lines *lines, uint32_t number)
{
	const struct model_generated_line *says = lines->all.items[number].says;
	AUTO_FREE char *place = NULL;

	if (!says || !*says->kernel)
		return NULL;
	place = kernel_place(says);
	return xasprintf("%s%s%s", says->kernel, *place ? " " : "", place);
}

char *line_label(const struct lines *lines, uint32_t number)
{
	char *place = line_place(lines, number), *label;

	if (lines->all.items[number].reason)
		return place;
	label = xasprintf("%s %s", place, line_function(lines, number));
	free(place);
	return label;
}

const char *line_function(const struct lines *lines, uint32_t number)
{
	return lines->all.items[number].function;
}

char *line_name(const struct lines *lines, uint32_t line, enum line_brevity brevity)
{
	const char *function = line_function(lines, line), *dot = strrchr(function, '.');

	if (brevity == LINE_WITH_FUNCTION)
		return line_label(lines, line);
	return xjoin(line_place(lines, line), brevity == LINE_WITH_METHOD && *function ? " " : "",
		     xstrdup(brevity == LINE_WITH_METHOD ? (dot ? dot + 1 : function) : ""));
}
