/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stays is found from the marks on; then each array is put together anew, and indices are replaced. */
#include "model/retain.h"

#include <string.h>

static void begin_events(struct retain_events *events, uint32_t count)
{
	if (events->room < count || !events->marks) {
		free(events->marks);
		free(events->places);
		events->room = count + count / 4 + 16;
		events->marks = xmalloc(events->room * sizeof(*events->marks));
		events->places = xmalloc(events->room * sizeof(*events->places));
	}
	memset(events->marks, RETAIN_NOT, count);
}

void retain_begin(struct retain *retain, const struct model *model)
{
	begin_events(&retain->calls, model->call_count);
	begin_events(&retain->gpu, model->gpu_count);
	begin_events(&retain->overheads, model->overhead_count);
	begin_events(&retain->jits, model->jit_count);
	begin_events(&retain->syncs, model->sync_count);
	begin_events(&retain->memories, model->memory_count);
	begin_events(&retain->args, model->args_count);
}

void retain_free(struct retain *retain)
{
	struct retain_events *all[] = {&retain->calls, &retain->gpu,	  &retain->overheads, &retain->jits,
				       &retain->syncs, &retain->memories, &retain->args};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		free(all[i]->marks);
		free(all[i]->places);
	}
	array_free(&retain->pending);
	free(retain->aside);
	memset(retain, 0, sizeof(*retain));
}

/* ---- what stays ------------------------------------------------------------------------------------------------- */

/* A call that nobody marked stays; its operations have to be looked at. */
static void keep_call(struct retain *retain, uint32_t call)
{
	if (call == NONE || retain->calls.marks[call] != RETAIN_NOT)
		return;
	retain->calls.marks[call] = RETAIN_KEPT;
	array_push(&retain->pending, call);
}

static void keep_calls_of_operation(struct retain *retain, const struct model_gpu *op)
{
	keep_call(retain, op->call);
	keep_call(retain, op->captured_by);
}

static void keep_operations(struct retain *retain, const struct model *model, uint32_t call)
{
	for (uint32_t op = model->calls[call].first_gpu; op != NONE; op = model->gpu[op].next) {
		if (retain->gpu.marks[op] != RETAIN_NOT)
			continue;
		retain->gpu.marks[op] = RETAIN_KEPT;
		keep_calls_of_operation(retain, &model->gpu[op]);
	}
}

static void keep_of_memories(struct retain *retain, const struct model *model)
{
	uint8_t *marks = retain->memories.marks;

	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];

		if (marks[i] == RETAIN_NOT)
			continue;
		keep_call(retain, memory->call);
		if (!memory->released || memory->other == NONE)
			continue;
		if (marks[memory->other] == RETAIN_NOT)
			marks[memory->other] = RETAIN_KEPT;
		keep_call(retain, model->memories[memory->other].call);
	}
}

static void keep_what_is_referred_to(struct retain *retain, const struct model *model)
{
	retain->pending.count = 0;
	for (uint32_t i = 0; i < model->sync_count; i++) {
		if (retain->syncs.marks[i] == RETAIN_NOT)
			continue;
		keep_call(retain, model->syncs[i].call);
		keep_call(retain, model->syncs[i].recorded_by);
	}
	for (uint32_t i = 0; i < model->jit_count; i++)
		if (retain->jits.marks[i] != RETAIN_NOT)
			keep_call(retain, model->jits[i].call);
	keep_of_memories(retain, model);
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (retain->gpu.marks[i] != RETAIN_NOT)
			keep_calls_of_operation(retain, &model->gpu[i]);
	for (uint32_t i = 0; i < model->call_count; i++)
		if (retain->calls.marks[i] != RETAIN_NOT)
			keep_operations(retain, model, i);
	while (retain->pending.count)
		keep_operations(retain, model, retain->pending.items[--retain->pending.count]);
	for (uint32_t i = 0; i < model->call_count; i++)
		if (retain->calls.marks[i] != RETAIN_NOT && model->calls[i].args != NONE)
			retain->args.marks[model->calls[i].args] = RETAIN_DUE;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static void reserve_aside(struct retain *retain, size_t bytes)
{
	if (retain->aside && retain->aside_bytes >= bytes)
		return;
	free(retain->aside);
	retain->aside_bytes = bytes + bytes / 4 + 64;
	retain->aside = xmalloc(retain->aside_bytes);
}

/* Where the first event with each mark goes; [RETAIN_MARKS]: how many stay. */
static void find_begins(const struct retain_events *events, uint32_t count, uint32_t begins[RETAIN_MARKS + 1])
{
	uint32_t counts[RETAIN_MARKS] = {0};

	for (uint32_t i = 0; i < count; i++)
		counts[events->marks[i]]++;
	begins[RETAIN_NOT] = begins[RETAIN_KEPT] = 0;
	for (int mark = RETAIN_DUE; mark <= RETAIN_MARKS; mark++)
		begins[mark] = begins[mark - 1] + counts[mark - 1];
}

/* What is due moves forward over what is gone; the others wait aside until their places are free. */
static void move_events(struct retain *retain, const struct retain_events *events, uint8_t *items, size_t size,
			uint32_t count, const uint32_t begins[RETAIN_MARKS + 1])
{
	size_t kept = (begins[RETAIN_DUE] - begins[RETAIN_KEPT]) * size;
	size_t due = (begins[RETAIN_LATER] - begins[RETAIN_DUE]) * size;
	size_t later = (begins[RETAIN_MARKS] - begins[RETAIN_LATER]) * size;
	uint8_t *to[RETAIN_MARKS];

	reserve_aside(retain, kept + later);
	to[RETAIN_KEPT] = retain->aside;
	to[RETAIN_DUE] = items;
	to[RETAIN_LATER] = retain->aside + kept;
	for (uint32_t i = 0, end; i < count; i = end) {
		uint8_t mark = events->marks[i];

		for (end = i + 1; end < count && events->marks[end] == mark;)
			end++;
		if (mark == RETAIN_NOT)
			continue;
		memmove(to[mark], items + i * size, (end - i) * size);
		to[mark] += (end - i) * size;
	}
	memmove(items + kept, items, due);
	memcpy(items, retain->aside, kept);
	memcpy(items + kept + due, retain->aside + kept, later);
}

/* Each to its place in another array. */
static void copy_events(const struct retain_events *events, const uint8_t *items, uint8_t *into, size_t size,
			uint32_t count)
{
	for (uint32_t i = 0, end; i < count; i = end) {
		uint8_t mark = events->marks[i];

		for (end = i + 1; end < count && events->marks[end] == mark;)
			end++;
		if (mark != RETAIN_NOT)
			memcpy(into + events->places[i] * size, items + i * size, (end - i) * size);
	}
}

/* into: another array with as much room, or `items` itself. */
static void apply_to(struct retain *retain, struct retain_events *events, void *items, void *into, size_t size,
		     uint32_t *count, struct model_due *due)
{
	uint32_t begins[RETAIN_MARKS + 1], next[RETAIN_MARKS];

	find_begins(events, *count, begins);
	memcpy(next, begins, sizeof(next));
	for (uint32_t i = 0; i < *count; i++)
		events->places[i] = events->marks[i] == RETAIN_NOT ? NONE : next[events->marks[i]]++;
	if (*count && into == items)
		move_events(retain, events, items, size, *count, begins);
	else if (*count)
		copy_events(events, items, into, size, *count);
	*count = begins[RETAIN_MARKS];
	due->from = begins[RETAIN_DUE];
	due->later = begins[RETAIN_MARKS] - begins[RETAIN_LATER];
}

/* ---- references ------------------------------------------------------------------------------------------------- */

static void follow(const struct retain_events *events, uint32_t *index)
{
	if (*index != NONE)
		*index = events->places[*index];
}

static void follow_all(const struct retain *retain, struct model *model)
{
	for (uint32_t i = 0; i < model->call_count; i++) {
		follow(&retain->args, &model->calls[i].args);
		follow(&retain->gpu, &model->calls[i].first_gpu);
	}
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		follow(&retain->calls, &model->gpu[i].call);
		follow(&retain->calls, &model->gpu[i].captured_by);
		follow(&retain->gpu, &model->gpu[i].next);
	}
	for (uint32_t i = 0; i < model->jit_count; i++)
		follow(&retain->calls, &model->jits[i].call);
	for (uint32_t i = 0; i < model->sync_count; i++) {
		follow(&retain->calls, &model->syncs[i].call);
		follow(&retain->calls, &model->syncs[i].recorded_by);
	}
	for (uint32_t i = 0; i < model->memory_count; i++) {
		follow(&retain->calls, &model->memories[i].call);
		follow(&retain->memories, &model->memories[i].other);
	}
}

#define FOR_ARRAYS(DO)                                                                                                 \
	DO(calls, call_count, &model->calls_due)                                                                       \
	DO(gpu, gpu_count, &model->gpu_due)                                                                            \
	DO(overheads, overhead_count, &model->overheads_due)                                                           \
	DO(jits, jit_count, &model->jits_due)                                                                          \
	DO(syncs, sync_count, &model->syncs_due)                                                                       \
	DO(memories, memory_count, &model->memories_due)                                                               \
	DO(args, args_count, &args)

void retain_apply(struct retain *retain, struct model *model)
{
	struct model_due args;

	keep_what_is_referred_to(retain, model);
#define APPLY(array, count, due)                                                                                       \
	apply_to(retain, &retain->array, model->array, model->array, sizeof(*model->array), &model->count, due);
	FOR_ARRAYS(APPLY)
#undef APPLY
	follow_all(retain, model);
}

void retain_apply_into(struct retain *retain, struct model *model, struct retain_arrays *arrays)
{
	struct model_due args;

	keep_what_is_referred_to(retain, model);
#define APPLY(array, count, due)                                                                                       \
	arrays->array.items =                                                                                          \
		array_reserve(arrays->array.items, sizeof(*model->array), 0, model->count, &arrays->array.capacity);   \
	apply_to(retain, &retain->array, model->array, arrays->array.items, sizeof(*model->array), &model->count,      \
		 due);                                                                                                 \
	model->array = arrays->array.items;
	FOR_ARRAYS(APPLY)
#undef APPLY
	follow_all(retain, model);
}

void retain_arrays_free(struct retain_arrays *arrays)
{
	array_free(&arrays->calls);
	array_free(&arrays->args);
	array_free(&arrays->gpu);
	array_free(&arrays->overheads);
	array_free(&arrays->jits);
	array_free(&arrays->syncs);
	array_free(&arrays->memories);
}
