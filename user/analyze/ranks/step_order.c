/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/step_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* FNV-1a */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return add_bytes(hash, &number, sizeof(number));
}

/* Of others, such as a gather or an all-to-all, ranks may give and get different amounts. */
static bool has_one_size(const char *name)
{
	return strstr(name, "allreduce") || strstr(name, "all_reduce") || strstr(name, "broadcast");
}

static uint64_t what_of(const struct collective *collective)
{
	const char *name = collective->fields[GPT_COLLECTIVE_NAME];
	uint64_t hash = add_bytes(0xcbf29ce484222325u, name, strlen(name));

	hash = add_number(hash, (uint64_t)collective->numbers[GPT_COLLECTIVE_DTYPE]);
	return has_one_size(name) ? add_number(hash, (uint64_t)collective->numbers[GPT_COLLECTIVE_IN_ELEMENTS]) : hash;
}

void step_positions_add(struct step_positions *all, const struct collective *collective, uint64_t step,
			uint64_t launch_ns, size_t index)
{
	array_push(&all->list, ((struct step_position){.group = collective_key(collective, -1),
						       .what = what_of(collective),
						       .step = step,
						       .launch_ns = launch_ns,
						       .index = index}));
}

static bool in_one_step(const struct step_position *a, const struct step_position *b)
{
	return a->group == b->group && a->step == b->step;
}

DEFINE_ORDER(by_order, struct step_position,
	     least_first(a->group, b->group) ?: least_first(a->step, b->step) ?:
	     least_first(a->launch_ns, b->launch_ns) ?: least_first(a->index, b->index))

void step_positions_finish(struct step_positions *all, void (*take)(void *context, size_t index, uint64_t key),
			   void *context)
{
	const struct step_position *list = all->list.items;
	size_t count = all->list.count;

	if (count)
		qsort(all->list.items, count, sizeof(*list), by_order);
	for (size_t first = 0, end; first < count; first = end) {
		uint64_t step = add_number(list[first].group, list[first].step);

		for (end = first; end < count && in_one_step(&list[end], &list[first]); end++)
			step = add_number(step, list[end].what);
		for (size_t i = first; i < end; i++)
			take(context, list[i].index, add_number(step, i - first));
	}
	array_free(&all->list);
}
