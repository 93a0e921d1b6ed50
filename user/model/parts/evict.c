/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps events of a part of pass 2 that later parts need. */
#include "model/join/tables.h"

/* Events not yet handed over stay. */
static void mark_later(struct keep *keep, const struct model *model)
{
#define MARK(one, many, ...)                                                                                           \
	for (uint32_t i = in_part_end(&model->many##_in_part, model->one##_count); i < model->one##_count; i++)        \
		keep->many.marks[i] = KEEP_LATER;
	MODEL_EVENTS(MARK)
#undef MARK
}

static void mark_kept(uint8_t *marks, uint32_t index)
{
	if (index != NONE && marks[index] == KEEP_NOT)
		marks[index] = KEEP_REFERRED;
}

/* Calls to which later events may refer: each thread's latest, captured nodes, recordings of events. */
static void mark_wanted_calls(struct builder *builder, struct keep *keep)
{
	const struct lookup *nodes = &builder->first->graphs.node_calls;
	const struct recordings *recordings = &builder->parts.recordings;

	for (size_t i = 0; i < builder->processes.open_calls.count; i++)
		mark_kept(keep->calls.marks, builder->processes.open_calls.items[i]);
	for (size_t i = 0; nodes->mask && i <= nodes->mask; i++)
		if (nodes->entries[i].space)
			mark_kept(keep->calls.marks,
				  calls_find(&builder->calls, nodes->entries[i].space, nodes->entries[i].value));
	for (size_t i = 0; i < recordings->list.count; i++)
		mark_kept(keep->calls.marks, recordings->list.items[i].call);
}

/* Marks memory that is still allocated. */
static void mark_held(struct builder *builder, struct keep *keep)
{
	const struct lookup *held = &builder->parts.allocations;

	for (size_t i = 0; held->mask && i <= held->mask; i++)
		if (held->entries[i].space && held->entries[i].value)
			mark_kept(keep->memories.marks, held->entries[i].value - 1);
}

static void move_allocations(struct lookup *allocations, const uint32_t *places)
{
	for (size_t i = 0; allocations->mask && i <= allocations->mask; i++) {
		struct lookup_entry *entry = &allocations->entries[i];

		if (entry->space && entry->value)
			entry->value = places[entry->value - 1] + 1;
	}
}

/* Sets the number of the first event of the next part. */
static void count_on(struct model_in_part *part, uint32_t count)
{
	part->number += in_part_end(part, count) - part->from;
}

/* Swaps the array in use with the spare one. */
#define EXCHANGE(list, spare_list, used)                                                                               \
	do {                                                                                                           \
		typeof((list)->items) items = (list)->items;                                                           \
		size_t capacity = (list)->capacity;                                                                    \
		(list)->items = (spare_list)->items;                                                                   \
		(list)->capacity = (spare_list)->capacity;                                                             \
		(list)->count = (used);                                                                                \
		(spare_list)->items = items;                                                                           \
		(spare_list)->capacity = capacity;                                                                     \
	} while (0)

static void exchange_arrays(struct builder *builder)
{
	struct kept_arrays *spare = &builder->parts.spare;
	const struct model *model = builder->model;

	EXCHANGE(&builder->calls.list, &spare->calls, model->call_count);
	EXCHANGE(&builder->calls.args, &spare->args, model->args_count);
	EXCHANGE(&builder->gpu.joined, &spare->gpu, model->gpu_count);
#define EXCHANGE_JOINED(one, many, ...) EXCHANGE(&builder->many, &spare->many, model->one##_count);
	MODEL_JOINED_EVENTS(EXCHANGE_JOINED)
#undef EXCHANGE_JOINED
}

void evict(struct builder *builder)
{
	struct keep *keep = &builder->parts.keep;
	struct model *model = builder->model;

#define COUNT_ON(one, many, ...) count_on(&model->many##_in_part, model->one##_count);
	MODEL_EVENTS(COUNT_ON)
#undef COUNT_ON
	keep_begin(keep, model);
	mark_later(keep, model);
	recordings_trim(&builder->parts.recordings);
	mark_wanted_calls(builder, keep);
	mark_held(builder, keep);
	keep_apply_into(keep, model, &builder->parts.spare);
	exchange_arrays(builder);
	calls_move(&builder->calls, keep->calls.places);
	recordings_move(&builder->parts.recordings, keep->calls.places);
	move_allocations(&builder->parts.allocations, keep->memories.places);
	builder->calls.complete = model->calls_in_part.from;
	builder->calls.handed_over = model->calls_in_part.number;
	sampled_stacks_evict(&builder->sampled, builder->parts.until_ns);
	builder->parts.handed_over = false;
}
