/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/sampled_stacks.h"

#include <stdlib.h>
#include <string.h>

void sampled_stacks_free(struct sampled_stacks *sampled)
{
	array_free(&sampled->list);
	for (int what = GPT_STACK_OF_OP; what <= GPT_STACK_OF_MEMORY; what++)
		lookup_free(&sampled->by_number[what]);
}

void sampled_stacks_add(struct sampled_stacks *sampled, uint32_t epoch, const struct gpt_stack_at *from, uint32_t stack)
{
	uint32_t index = (uint32_t)sampled->list.count;

	if (index == NONE)
		return;
	array_push(&sampled->list, ((struct sampled_stack){.time_ns = from->time_ns, .stack = stack}));
	*lookup_put(&sampled->by_number[from->what], epoch, from->number, index) = index;
}

uint32_t sampled_stacks_find(const struct sampled_stacks *sampled, uint32_t epoch, enum gpt_stack_of what,
			     uint64_t number, uint64_t time_ns)
{
	const uint32_t *index = number ? lookup_get(&sampled->by_number[what], epoch, number) : NULL;
	const struct sampled_stack *found = index ? &sampled->list.items[*index] : NULL;

	return found && found->time_ns <= time_ns && time_ns - found->time_ns <= SAMPLED_STACK_AGE_NS ? found->stack
												      : NONE;
}

void sampled_stacks_evict(struct sampled_stacks *sampled, uint64_t until_ns)
{
	uint64_t from_ns = until_ns > SAMPLED_STACK_AGE_NS ? until_ns - SAMPLED_STACK_AGE_NS : 0;
	uint32_t *places, kept = 0;

	if (!sampled->list.count)
		return;
	places = xmalloc(sampled->list.count * sizeof(*places));
	for (size_t i = 0; i < sampled->list.count; i++) {
		places[i] = sampled->list.items[i].time_ns >= from_ns ? kept : NONE;
		if (places[i] != NONE)
			sampled->list.items[kept++] = sampled->list.items[i];
	}
	sampled->list.count = kept;
	for (int what = GPT_STACK_OF_OP; what <= GPT_STACK_OF_MEMORY; what++)
		lookup_move(&sampled->by_number[what], places);
	free(places);
}
