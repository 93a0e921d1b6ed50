/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of a source; see stacks.h. */
#include "model/tables/stacks.h"

#include <string.h>

#define UNREADABLE (NONE - 1) /* in by_id: no frames, see stacks_is_unreadable */

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
	const struct model_stack_module *modules = stacks->stack_modules.items;
	const uint32_t *frames = stacks->frames.items;

	if (a->module_count != b->module_count ||
	    (a->module_count &&
	     memcmp(modules + a->first_module, modules + b->first_module, a->module_count * sizeof(*modules)) != 0))
		return false;
	return a->depth == b->depth && a->gap == b->gap && a->missing == b->missing &&
	       a->module_missing == b->module_missing &&
	       !memcmp(frames + a->first, frames + b->first, a->depth * sizeof(*frames));
}

/* Interns the stack `made` of the last frames, which are removed again if an equal stack exists. */
static uint32_t intern_stack(struct stacks *stacks, const struct model_stack made)
{
	uint64_t hash = hash_bytes(hash_seed() ^ made.missing, stacks->frames.items + made.first,
				   made.depth * sizeof(*stacks->frames.items));
	uint32_t *found;

	if (made.module_count)
		hash = hash_bytes(hash, stacks->stack_modules.items + made.first_module,
				  made.module_count * sizeof(*stacks->stack_modules.items));
	found = lookup_put(&stacks->by_content, made.depth, hash, NONE);

	/* two stacks with equal hashes: both are kept, and one of them is not shared */
	if (*found != NONE && is_same(stacks, &stacks->list.items[*found], &made)) {
		stacks->frames.count -= made.depth;
		stacks->stack_modules.count -= made.module_count;
		return *found;
	}
	*found = (uint32_t)stacks->list.count;
	array_push(&stacks->list, made);
	return *found;
}

void stacks_add_python(struct stacks *stacks, struct process_image program, const struct new_stack *from)
{
	struct model_stack made = {.first = (uint32_t)stacks->frames.count,
				   .missing = from->missing,
				   .first_module = (uint32_t)stacks->stack_modules.count,
				   .module_count = from->module_count,
				   .module_missing = from->module_missing};
	uint32_t stack, epoch = program.epoch, places[GPT_PYSTACK_MAX_FRAMES];

	stacks->latest = (struct lookup_latest){0};
	for (uint32_t i = 0; i < from->depth; i++) {
		uint32_t index = codes_frame(stacks->codes, epoch, from->frames[i].code, from->frames[i].lasti);

		if (from->missing && i == from->gap)
			made.gap = made.depth;
		if (i < GPT_PYSTACK_MAX_FRAMES)
			places[i] = index == NONE ? NONE : made.depth;
		if (index == NONE)
			continue;
		if (index == FRAME_OF_NO_CODE) { /* no stack is better than a wrong one */
			stacks->frames.count -= made.depth;
			*lookup_put(&stacks->by_id, epoch, from->key, UNREADABLE) = UNREADABLE;
			return;
		}
		array_push(&stacks->frames, index);
		made.depth++;
	}
	if (!made.depth)
		return;
	if (from->missing && from->gap >= from->depth)
		made.gap = made.depth;
	for (uint32_t i = from->module_count; i--;) {
		const struct new_stack_module *module = &from->modules[i];
		bool is_frame = module->frame < from->depth && module->frame < GPT_PYSTACK_MAX_FRAMES;

		array_push(&stacks->stack_modules,
			   ((struct model_stack_module){
				   modules_index(stacks->modules, program, module->address, module->generation),
				   is_frame ? places[module->frame] : NONE}));
	}
	stack = intern_stack(stacks, made);
	*lookup_put(&stacks->by_id, epoch, from->key, stack) = stack;
}

void stacks_add_native(struct stacks *stacks, uint32_t epoch, uint64_t key, const uint64_t *ips, uint32_t depth)
{
	struct model_native native = {.first = (uint32_t)stacks->ips.count, .depth = depth};
	uint32_t index = (uint32_t)stacks->natives.count;

	for (uint32_t i = 0; i < depth; i++) {
		struct native_ip ip = {.ip = ips[i], .epoch = epoch};

		array_push(&stacks->ips, ip);
	}
	array_push(&stacks->natives, native);
	*lookup_put(&stacks->native_by_id, epoch, key, index) = index;
}

/* "[libfoo.so]" for an address whose function has no name. */
static uint32_t intern_module(struct stacks *stacks, struct text module)
{
	text_buffer name = {0};
	const char *slash = module.size ? memrchr(module.bytes, '/', module.size) : NULL;
	uint32_t index;

	if (slash) {
		module.size -= (size_t)(slash + 1 - module.bytes);
		module.bytes = slash + 1;
	}
	safe_text_append_utf8(&name, "[", 1);
	if (module.size)
		safe_text_append_utf8(&name, module.bytes, module.size);
	else
		safe_text_append_utf8(&name, "unknown", strlen("unknown"));
	safe_text_append_utf8(&name, "]", 1);
	index = string_intern(stacks->strings, name.items, name.count);
	array_free(&name);
	return index;
}

void stacks_add_symbol(struct stacks *stacks, uint32_t epoch, uint64_t ip, struct text symbol, struct text module)
{
	uint32_t name = symbol.size ? string_intern_mangled(stacks->strings, symbol.bytes, symbol.size)
				    : intern_module(stacks, module);

	*lookup_put(&stacks->symbols, epoch, ip, name) = name;
}

static uint32_t find_index(const struct lookup *lookup, uint32_t epoch, uint64_t id)
{
	uint32_t *index = id ? lookup_get(lookup, epoch, id) : NULL;

	return index ? *index : NONE;
}

uint32_t stacks_find(struct stacks *stacks, uint32_t epoch, uint64_t id)
{
	const uint32_t *stack = id ? lookup_get_latest(&stacks->by_id, &stacks->latest, epoch, id) : NULL;

	return stack && *stack != UNREADABLE ? *stack : NONE;
}

bool stacks_is_unreadable(const struct stacks *stacks, uint32_t epoch, uint64_t id)
{
	return find_index(&stacks->by_id, epoch, id) == UNREADABLE;
}

uint32_t stacks_find_native(const struct stacks *stacks, uint32_t epoch, uint64_t id)
{
	return find_index(&stacks->native_by_id, epoch, id);
}

/* A string of `from`, interned in `stacks`. */
static uint32_t take_string(struct stacks *stacks, const struct stacks *from, uint32_t string)
{
	const char *text = string_at(from->strings, string);

	return from == stacks ? string : string_intern(stacks->strings, text, strlen(text));
}

void stacks_name_natives(struct stacks *stacks, const struct stacks *named)
{
	size_t known = stacks->native_frames.count;
	uint32_t unknown = stacks->ips.count > known ? intern_module(stacks, (struct text){0}) : NONE;

	for (size_t i = known; i < stacks->ips.count; i++) {
		const struct native_ip *ip = &stacks->ips.items[i];
		const uint32_t *name = lookup_get(&named->symbols, ip->epoch, ip->ip);

		array_push(&stacks->native_frames, name ? take_string(stacks, named, *name) : unknown);
	}
}
