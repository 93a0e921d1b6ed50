/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/culprits.h"

#include <string.h>

/* A comprehension that CPython compiles to a function of its own; no name in a program's text is like these. */
static bool is_comprehension(const struct model_code *code)
{
	static const char *const names[] = {"<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"};
	const char *dot = strrchr(code->name, '.');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(dot ? dot + 1 : code->name, names[i]))
			return true;
	return false;
}

/* Frames of one stack.  A comprehension is part of the function around it. */
static bool is_same_function(const struct model *model, uint32_t inner, uint32_t outer)
{
	uint32_t a = model->frames[inner].code, b = model->frames[outer].code;

	return a == b || (is_comprehension(&model->codes[a]) && !strcmp(model->codes[a].file, model->codes[b].file));
}

/* Frames that are missing may be those of the caller. */
static bool is_cut_before(const struct model_stack *stack, uint32_t index)
{
	return stack->missing && stack->gap == index;
}

/* index: of the line that was called, in the stack's frames. */
static uint32_t caller_of_frame(struct lines *lines, const struct model_stack *stack, uint32_t index)
{
	const struct model *model = lines->callers->model;
	const uint32_t *frames = &model->stack_frames[stack->first];
	uint32_t inner = frames[index];

	for (uint32_t i = index + 1; i < stack->depth && !is_cut_before(stack, i); i++) {
		uint32_t line = line_of(lines, frames[i]);

		if (is_same_function(model, inner, frames[i]))
			inner = frames[i];
		else if (!line_is_library(lines, line))
			return line;
	}
	return NONE;
}

struct culprit culprit_at(struct lines *lines, uint32_t place, uint32_t own_frame)
{
	const struct model *model = lines->callers->model;
	struct culprit culprit = {.caller = NONE};
	const struct model_stack *stack;

	if (place >= CALLER_NO_FRAME) {
		culprit.line = culprit.own = line_of(lines, place);
		return culprit;
	}
	stack = &model->stacks[place];
	culprit.line = culprit.own = line_of(lines, model->stack_frames[stack->first]);
	for (uint32_t i = 0; i < stack->depth; i++) {
		uint32_t frame = model->stack_frames[stack->first + i], line = line_of(lines, frame);

		if (own_frame == NONE ? line_is_library(lines, line) : frame != own_frame)
			continue;
		culprit.own = line;
		culprit.caller = caller_of_frame(lines, stack, i);
		break;
	}
	return culprit;
}

/* ------------------------------------------------------------------------------------------------------------------ */

void line_callers_add(struct line_callers *callers, uint32_t line, uint32_t caller, uint64_t ns)
{
	tally_at(&callers->sums, (struct tally_key){{line, caller}})->ns += ns;
}

void line_callers_finish(struct line_callers *callers, uint64_t least_ns)
{
	callers->least_ns = least_ns;
	for (size_t i = 0; i < callers->sums.count; i++) {
		const struct tally_entry *sum = &callers->sums.entries[i];
		struct tally_entry *line = tally_at(&callers->lines, (struct tally_key){{sum->key.part[0]}});
		struct tally_entry *most = tally_at(&callers->most, (struct tally_key){{sum->key.part[0]}});

		if (sum->ns < least_ns)
			line->ns += sum->ns;
		else
			line->count++;
		if (sum->ns > most->ns) {
			most->ns = sum->ns;
			most->more = sum->key.part[1];
		}
	}
}

void line_callers_free(struct line_callers *callers)
{
	tally_free(&callers->sums);
	tally_free(&callers->lines);
	tally_free(&callers->most);
}

/* Whether the callers that are too small make a part of their own. */
static bool has_rest(const struct line_callers *callers, const struct tally_entry *line)
{
	return line->ns >= callers->least_ns;
}

bool line_callers_divide(struct line_callers *callers, uint32_t line)
{
	const struct tally_entry *sum = tally_at(&callers->lines, (struct tally_key){{line}});

	return sum->count + has_rest(callers, sum) > 1;
}

uint32_t line_callers_part(struct line_callers *callers, uint32_t line, uint32_t caller)
{
	if (!line_callers_divide(callers, line))
		return CALLERS_TOGETHER;
	if (tally_at(&callers->sums, (struct tally_key){{line, caller}})->ns >= callers->least_ns)
		return caller;
	if (has_rest(callers, tally_at(&callers->lines, (struct tally_key){{line}})))
		return CALLERS_TOGETHER;
	return (uint32_t)tally_at(&callers->most, (struct tally_key){{line}})->more;
}
