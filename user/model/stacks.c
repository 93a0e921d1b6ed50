/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of a log. */
#include "model/stacks.h"

#include <string.h>

#include "model/process_table.h"

#define UNREADABLE (NONE - 1) /* in by_id: no frames, see stacks_is_unreadable */

void stacks_init(struct stacks *stacks, struct codes *codes, struct string_pool *strings, uint64_t seed)
{
	memset(stacks, 0, sizeof(*stacks));
	stacks->codes = codes;
	stacks->strings = strings;
	stacks->seed = seed;
	lookup_init(&stacks->by_id, seed);
	lookup_init(&stacks->by_content, seed);
	lookup_init(&stacks->native_by_id, seed);
	lookup_init(&stacks->symbols, seed);
}

void stacks_free(struct stacks *stacks)
{
	array_free(&stacks->ips);
	lookup_free(&stacks->by_id);
	lookup_free(&stacks->by_content);
	lookup_free(&stacks->native_by_id);
	lookup_free(&stacks->symbols);
}

static bool is_same(const struct stacks *stacks, const struct model_stack *a, const struct model_stack *b)
{
	const uint32_t *frames = stacks->frames.items;

	return a->depth == b->depth && a->gap == b->gap && a->missing == b->missing &&
	       !memcmp(frames + a->first, frames + b->first, a->depth * sizeof(*frames));
}

/* The stack `made` of the last frames; they are taken back when there is an equal one already. */
static uint32_t intern_stack(struct stacks *stacks, const struct model_stack made)
{
	uint64_t hash = hash_bytes(stacks->seed ^ made.missing, stacks->frames.items + made.first,
				   made.depth * sizeof(*stacks->frames.items));
	uint32_t *found = lookup_put(&stacks->by_content, made.depth, hash, NONE);

	/* two stacks of one hash: both are kept, one of them is not shared */
	if (*found != NONE && is_same(stacks, &stacks->list.items[*found], &made)) {
		stacks->frames.count -= made.depth;
		return *found;
	}
	*found = (uint32_t)stacks->list.count;
	array_push(&stacks->list, made);
	return *found;
}

/* Whether an entry of a stack that was truncated says how many frames were left out in its place. */
static bool is_gap(const struct gpt_pystack *stack, uint32_t index)
{
	return !stack->frames[index].code && stack->frames[index].lasti > 0 &&
	       stack->hdr.flags & GPT_PYSTACK_TRUNCATED &&
	       index == GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1;
}

bool stacks_add_python(struct stacks *stacks, uint32_t space, const struct gpt_record *record)
{
	const struct gpt_pystack *event = (const struct gpt_pystack *)record;
	struct model_stack made = {.first = (uint32_t)stacks->frames.count};
	uint32_t stack;

	if (!event->id || !event->depth || event->depth > GPT_PYSTACK_MAX_FRAMES ||
	    event->depth > (record->size - sizeof(*event)) / sizeof(event->frames[0]))
		return false;
	for (uint32_t i = 0; i < event->depth; i++) {
		const struct gpt_pyframe *frame = &event->frames[i];
		uint32_t index;

		if (is_gap(event, i)) {
			made.gap = made.depth;
			made.missing = (uint32_t)frame->lasti;
			continue;
		}
		index = codes_frame(stacks->codes, space, frame->code, frame->lasti);
		if (index == NONE)
			continue;
		if (index == FRAME_OF_NO_CODE) { /* none is better than a wrong one */
			stacks->frames.count -= made.depth;
			*lookup_put(&stacks->by_id, space, event->id, UNREADABLE) = UNREADABLE;
			return true;
		}
		array_push(&stacks->frames, index);
		made.depth++;
	}
	if (!made.depth)
		return true;
	if (record->flags & GPT_PYSTACK_TRUNCATED && !made.missing) {
		made.gap = made.depth;
		made.missing = MODEL_MISSING_UNKNOWN;
	}
	stack = intern_stack(stacks, made);
	*lookup_put(&stacks->by_id, space, event->id, stack) = stack;
	return true;
}

bool stacks_add_native(struct stacks *stacks, uint32_t space, const struct gpt_record *record)
{
	const struct gpt_native_stack *event = (const struct gpt_native_stack *)record;
	struct model_native native = {.first = (uint32_t)stacks->ips.count, .depth = event->depth};
	uint32_t index = (uint32_t)stacks->natives.count;

	if (!event->id || !event->depth || event->depth > GPT_NATIVE_MAX_FRAMES ||
	    event->depth > (record->size - sizeof(*event)) / sizeof(event->ip[0]))
		return false;
	for (uint32_t i = 0; i < event->depth; i++) {
		struct native_ip ip = {.ip = event->ip[i], .space = space};

		array_push(&stacks->ips, ip);
	}
	array_push(&stacks->natives, native);
	*lookup_put(&stacks->native_by_id, space, event->id, index) = index;
	return true;
}

/* "[libfoo.so]" for an address whose function has no name. */
static uint32_t intern_module(struct stacks *stacks, const char *module, size_t length)
{
	text_buffer name = {0};
	const char *slash = length ? memrchr(module, '/', length) : NULL;
	uint32_t index;

	if (slash) {
		length -= (size_t)(slash + 1 - module);
		module = slash + 1;
	}
	safe_text_append_utf8(&name, "[", 1);
	if (length)
		safe_text_append_utf8(&name, module, length);
	else
		safe_text_append_utf8(&name, "unknown", strlen("unknown"));
	safe_text_append_utf8(&name, "]", 1);
	index = string_intern(stacks->strings, name.items, name.count);
	array_free(&name);
	return index;
}

bool stacks_add_symbol(struct stacks *stacks, uint32_t space, const struct gpt_record *record)
{
	const struct gpt_native_sym *event = (const struct gpt_native_sym *)record;
	const char *symbol, *module;
	size_t at = 0, symbol_length, module_length;
	uint32_t name;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	symbol = text_field(event->text, event->bytes, &at, &symbol_length);
	module = text_field(event->text, event->bytes, &at, &module_length);
	if (symbol_length)
		name = string_intern_mangled(stacks->strings, symbol, symbol_length);
	else
		name = intern_module(stacks, module, module_length);
	*lookup_put(&stacks->symbols, space, event->ip, name) = name;
	return true;
}

static uint32_t find(const struct lookup *lookup, uint32_t space, uint64_t id)
{
	uint32_t *index = id ? lookup_get(lookup, space, id) : NULL;

	return index ? *index : NONE;
}

uint32_t stacks_find(const struct stacks *stacks, uint32_t space, uint64_t id)
{
	uint32_t stack = find(&stacks->by_id, space, id);

	return stack == UNREADABLE ? NONE : stack;
}

bool stacks_is_unreadable(const struct stacks *stacks, uint32_t space, uint64_t id)
{
	return find(&stacks->by_id, space, id) == UNREADABLE;
}

uint32_t stacks_find_native(const struct stacks *stacks, uint32_t space, uint64_t id)
{
	return find(&stacks->native_by_id, space, id);
}

void stacks_finish(struct stacks *stacks)
{
	uint32_t unknown = stacks->ips.count ? intern_module(stacks, "", 0) : NONE;

	for (size_t i = 0; i < stacks->ips.count; i++) {
		const struct native_ip *ip = &stacks->ips.items[i];
		uint32_t *name = lookup_get(&stacks->symbols, ip->space, ip->ip);

		array_push(&stacks->native_frames, name ? *name : unknown);
	}
}
