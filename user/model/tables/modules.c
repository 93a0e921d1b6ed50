/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Modules of a source; see modules.h. */
#include "model/tables/modules.h"

#include <inttypes.h>
#include <string.h>

#include "base/order.h"

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
				    .label = "",
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
	uint32_t index = modules_index(modules, program, module->record->module, module->record->generation);

	if (modules->first) /* an earlier description does not replace the last one */
		return;
	modules->list.items[index] = (struct model_module){.name = keep_text(modules, module->name),
							   .label = "",
							   .class = keep_text(modules, module->class),
							   .root_class = keep_text(modules, module->root_class),
							   .unnamed = keep_text(modules, module->unnamed),
							   .other_names = keep_names(modules, module->other_names),
							   .process = program.process,
							   .root = module->record->root_number,
							   .names = module->record->names};
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

DEFINE_ORDER(by_root, struct model_module *const,
	     least_first((*a)->process, (*b)->process) ?: strcmp((*a)->root_class, (*b)->root_class) ?:
	     least_first((*a)->root, (*b)->root))

static bool is_of_class(const struct model_module *module, const struct model_module *other)
{
	return module->process == other->process && !strcmp(module->root_class, other->root_class);
}

static void make_label(struct modules *modules, struct model_module *module, bool numbered)
{
	AUTO_FREE char *label = NULL;
	char number[16] = "";

	module->number_in_label = numbered ? module->root : 0;
	if (numbered)
		snprintf(number, sizeof(number), "#%" PRIu32, module->root);
	label = xasprintf("%s%s%s%s", module->root_class, number, *module->name ? "." : "", module->name);
	module->label = string_keep(modules->strings, label, strlen(label));
}

void modules_finish(struct modules *modules)
{
	AUTO_FREE struct model_module **list = xcalloc(modules->list.count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < modules->list.count; i++)
		if (!*modules->list.items[i].unnamed)
			list[count++] = &modules->list.items[i];
	qsort(list, count, sizeof(*list), by_root);
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t roots = 1;

		for (to = from + 1; to < count && is_of_class(list[to], list[from]); to++)
			roots += list[to]->root != list[to - 1]->root;
		for (size_t i = from; i < to; i++)
			make_label(modules, list[i], roots > 1 && roots <= MODEL_ROOTS_NUMBERED);
	}
}
