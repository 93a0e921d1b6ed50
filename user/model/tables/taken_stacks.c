/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/taken_stacks.h"

#include <stdlib.h>
#include <string.h>

void taken_stacks_init(struct taken_stacks *taken, uint64_t seed)
{
	memset(taken, 0, sizeof(*taken));
	for (int what = GPT_STACK_OF_OP; what <= GPT_STACK_OF_MEMORY; what++)
		lookup_init(&taken->by_number[what], seed);
}

void taken_stacks_free(struct taken_stacks *taken)
{
	array_free(&taken->list);
	for (int what = GPT_STACK_OF_OP; what <= GPT_STACK_OF_MEMORY; what++)
		lookup_free(&taken->by_number[what]);
}

void taken_stacks_add(struct taken_stacks *taken, uint32_t space, const struct new_taken_stack *from, uint32_t stack)
{
	uint32_t index = (uint32_t)taken->list.count;

	if (index == NONE)
		return;
	array_push(&taken->list, ((struct taken_stack){.time_ns = from->time_ns, .stack = stack}));
	*lookup_put(&taken->by_number[from->what], space, from->number, index) = index;
}

uint32_t taken_stacks_find(const struct taken_stacks *taken, uint32_t space, enum gpt_stack_of what, uint64_t number,
			   uint64_t time_ns)
{
	const uint32_t *index = number ? lookup_get(&taken->by_number[what], space, number) : NULL;
	const struct taken_stack *found = index ? &taken->list.items[*index] : NULL;

	return found && found->time_ns <= time_ns && time_ns - found->time_ns <= TAKEN_STACK_AGE_NS ? found->stack
												    : NONE;
}

void taken_stacks_let_go(struct taken_stacks *taken, uint64_t until_ns)
{
	uint64_t from_ns = until_ns > TAKEN_STACK_AGE_NS ? until_ns - TAKEN_STACK_AGE_NS : 0;
	uint32_t *places, kept = 0;

	if (!taken->list.count)
		return;
	places = xmalloc(taken->list.count * sizeof(*places));
	for (size_t i = 0; i < taken->list.count; i++) {
		places[i] = taken->list.items[i].time_ns >= from_ns ? kept : NONE;
		if (places[i] != NONE)
			taken->list.items[kept++] = taken->list.items[i];
	}
	taken->list.count = kept;
	for (int what = GPT_STACK_OF_OP; what <= GPT_STACK_OF_MEMORY; what++)
		lookup_move(&taken->by_number[what], places);
	free(places);
}
