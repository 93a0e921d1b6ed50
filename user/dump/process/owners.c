/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

DEFINE_ORDER(by_module, struct import, strcmp(a->module, b->module) ?: lower_first(a->thread, b->thread))

void owners_add_import(struct owners *owners, const char *module, uint32_t thread)
{
	array_push(&owners->imports, ((struct import){module, thread}));
}

void owners_add_object(struct owners *owners, uint64_t object, uint32_t thread)
{
	lookup_put(&owners->objects, 1, object, thread);
}

void owners_sort(struct owners *owners)
{
	array_sort(&owners->imports, by_module);
	owners->read = true;
}

uint32_t owners_find_import(const struct owners *owners, const char *module, uint32_t except)
{
	const struct import *items = owners->imports.items;
	size_t low = count_while(owners->imports.count, i, strcmp(items[i].module, module) < 0);

	while (low < owners->imports.count && items[low].thread == except && !strcmp(items[low].module, module))
		low++;
	return low < owners->imports.count && !strcmp(items[low].module, module) ? items[low].thread : NO_OWNER;
}

uint32_t owners_find_object(const struct owners *owners, uint64_t object)
{
	const uint32_t *thread = lookup_get(&owners->objects, 1, object);

	return thread ? *thread : NO_OWNER;
}
