/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Modules of a source; see modules.h. */
#include "model/tables/modules.h"

#include <string.h>

void modules_free(struct modules *modules)
{
	lookup_free(&modules->by_key);
}

static uint64_t key_of(uint64_t address, uint32_t generation)
{
	const uint64_t words[] = {address, generation};

	return hash_bytes(hash_seed(), words, sizeof(words));
}

static const struct model_module *find_module(const struct modules *modules, uint32_t epoch, uint64_t address,
					      uint32_t generation)
{
	const uint32_t *index = lookup_get(&modules->by_key, epoch, key_of(address, generation));

	return index ? &modules->list.items[*index] : NULL;
}

uint32_t modules_index(struct modules *modules, struct process_image program, uint64_t address, uint32_t generation)
{
	struct model_module made = {.name = "",
				    .class = "",
				    .root_class = "",
				    .unnamed = "it was not read",
				    .other_names = "",
				    .process = program.process};
	uint32_t *index = lookup_put(&modules->by_key, program.epoch, key_of(address, generation), NONE);
	const struct model_module *described;

	if (*index != NONE)
		return *index;
	described = modules->first ? find_module(modules->first, program.epoch, address, generation) : NULL;
	*index = (uint32_t)modules->list.count;
	array_push(&modules->list, described ? *described : made);
	return *index;
}

static const char *keep_text(struct modules *modules, struct text text)
{
	return string_keep(modules->strings, text.bytes, text.size);
}

/* "a\0b\0" becomes "a, b". */
static const char *keep_names(struct modules *modules, struct text names)
{
	text_buffer line = {0};
	const char *kept;

	for (uint32_t at = 0; at < names.size;) {
		uint32_t bytes = (uint32_t)strnlen(names.bytes + at, names.size - at);

		if (at)
			safe_text_append_utf8(&line, ", ", 2);
		safe_text_append_utf8(&line, names.bytes + at, bytes);
		at += bytes + 1;
	}
	kept = string_keep(modules->strings, line.items, line.count);
	array_free(&line);
	return kept;
}

void modules_describe(struct modules *modules, struct process_image program, const struct new_module *module)
{
	uint32_t index = modules_index(modules, program, module->address, module->generation);

	modules->list.items[index] = (struct model_module){.name = keep_text(modules, module->name),
							   .class = keep_text(modules, module->class),
							   .root_class = keep_text(modules, module->root_class),
							   .unnamed = keep_text(modules, module->unnamed),
							   .other_names = keep_names(modules, module->other_names),
							   .process = program.process,
							   .root = module->root,
							   .names = module->names};
}
