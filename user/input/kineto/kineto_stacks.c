/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/kineto/kineto_stacks.h"

#include <string.h>

#include <gputrace/values.h>

#include "input/rows/python_name.h"

#define FRAMES_MAX (16u << 20) /* of all stacks */

void kineto_stacks_close(struct kineto_stacks *stacks)
{
	lookup_free(&stacks->known);
	lookup_free(&stacks->codes);
	lookup_free(&stacks->firsts);
	array_free(&stacks->noted);
}

/* "[872 frames left out]", as gputrace writes it; false: another text. */
static bool is_gap(struct text text, uint32_t *missing)
{
	static const char end[] = "frames left out]";
	uint64_t count = 0;
	size_t at = 1;

	if (text.size < sizeof(end) || text.bytes[0] != '[' ||
	    memcmp(text.bytes + text.size - (sizeof(end) - 1), end, sizeof(end) - 1))
		return false;
	for (; text.bytes[at] >= '0' && text.bytes[at] <= '9' && count < MODEL_MISSING_UNKNOWN; at++)
		count = 10 * count + (uint64_t)(text.bytes[at] - '0');
	*missing = at > 1 && count < MODEL_MISSING_UNKNOWN ? (uint32_t)count : MODEL_MISSING_UNKNOWN;
	return *missing > 0;
}

static struct foreign_code code_named(struct foreign_file *file, const struct python_name *name)
{
	return (struct foreign_code){.function = rows_text(&file->rows, name->function.bytes, name->function.size),
				     .file = rows_text(&file->rows, name->file.bytes, name->file.size)};
}

static uint32_t epoch_of(const struct foreign_code *code)
{
	return code->function == UINT32_MAX ? UINT32_MAX : code->function + 1;
}

void kineto_stacks_note(struct kineto_stacks *stacks, struct foreign_file *file, uint32_t text)
{
	struct foreign_code code;
	struct python_name name;
	uint32_t *first;

	if (text >= file->rows.texts.count)
		return;
	while (stacks->noted.count <= text)
		array_push(&stacks->noted, false);
	if (stacks->noted.items[text])
		return;
	stacks->noted.items[text] = true;
	name = python_name_read(file->rows.texts.items[text]);
	if (!name.has_file || !name.line)
		return;
	code = code_named(file, &name);
	first = lookup_put(&stacks->firsts, epoch_of(&code), code.file, name.line);
	if (*first != name.line)
		*first = NONE;
}

void kineto_stacks_finish(struct kineto_stacks *stacks, struct foreign_file *file)
{
	array_each (code, &file->codes) {
		const uint32_t *first = lookup_get(&stacks->firsts, epoch_of(code), code->file);

		code->first_line = first && *first != NONE ? *first : 0;
	}
}

static uint32_t code_of(struct kineto_stacks *stacks, struct foreign_file *file, const struct python_name *name)
{
	struct foreign_code code = code_named(file, name);
	uint32_t *index = lookup_put(&stacks->codes, epoch_of(&code), code.file, (uint32_t)file->codes.count);

	if (*index == file->codes.count)
		array_push(&file->codes, code);
	return *index;
}

/* Calls of C functions and of modules are not frames. */
static void add_frame(struct kineto_stacks *stacks, struct foreign_file *file, struct foreign_stack *stack,
		      struct text text)
{
	struct python_name name = python_name_read(text);
	uint32_t missing;

	if (!name.has_file) {
		if (!stack->missing && is_gap(text, &missing)) {
			stack->gap = stack->depth;
			stack->missing = missing;
		}
		return;
	}
	if (stack->depth < GPT_PYSTACK_MAX_FRAMES && file->frames.count < FRAMES_MAX) {
		array_push(&file->frames, ((struct foreign_frame){code_of(stacks, file, &name), name.line}));
		stack->depth++;
	} else if (!stack->missing || stack->gap == stack->depth) {
		stack->gap = stack->depth;
		stack->missing += stack->missing < MODEL_MISSING_UNKNOWN;
	}
}

static uint32_t make_stack(struct kineto_stacks *stacks, struct foreign_file *file, struct text text)
{
	struct foreign_stack stack = {.first = (uint32_t)file->frames.count};
	const char *at = text.bytes, *end = text.bytes + text.size;

	while (at < end) {
		const char *semicolon = memchr(at, ';', (size_t)(end - at)), *last = semicolon ? semicolon : end;

		add_frame(stacks, file, &stack, (struct text){at, (size_t)(last - at)});
		at = last + 1;
	}
	if (!stack.depth)
		return 0;
	array_push(&file->stacks, stack);
	return (uint32_t)file->stacks.count;
}

uint32_t kineto_stack(struct kineto_stacks *stacks, struct foreign_file *file, const struct json_text *text,
		      text_buffer *scratch)
{
	uint64_t hash;
	const uint32_t *known;
	uint32_t stack;

	if (!text->size)
		return 0;
	hash = hash_bytes(hash_seed(), text->bytes, text->size);
	known = lookup_get(&stacks->known, 1, hash);
	if (known)
		return *known;
	scratch->count = 0;
	json_unescape(scratch, text);
	stack = make_stack(stacks, file, (struct text){scratch->items, scratch->count});
	lookup_put(&stacks->known, 1, hash, stack);
	return stack;
}
