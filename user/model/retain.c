/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stays is found from the marks on; then each array is put together again, and indices are replaced. */
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
#define BEGIN(one, many, ...) begin_events(&retain->many, model->one##_count);
	MODEL_EVENTS(BEGIN)
#undef BEGIN
	begin_events(&retain->args, model->args_count);
}

static void free_events(struct retain_events *events)
{
	free(events->marks);
	free(events->places);
}

void retain_free(struct retain *retain)
{
#define FREE(one, many, ...) free_events(&retain->many);
	MODEL_EVENTS(FREE)
#undef FREE
	free_events(&retain->args);
	array_free(&retain->pending);
	free(retain->aside);
	memset(retain, 0, sizeof(*retain));
}

/* ---- what stays ------------------------------------------------------------------------------------------------- */

/* A call that no one marked stays; its operations have to be looked at. */
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

/* Of releases that stay. */
static void keep_allocations(struct retain *retain, const struct model *model)
{
	uint8_t *marks = retain->memories.marks;

	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];

		if (marks[i] != RETAIN_NOT && memory->released && memory->other != NONE &&
		    marks[memory->other] == RETAIN_NOT)
			marks[memory->other] = RETAIN_KEPT;
	}
}

static void keep_what_is_referred_to(struct retain *retain, const struct model *model)
{
	retain->pending.count = 0;
	keep_allocations(retain, model);
#define KEEP(one, many, member, ...)                                                                                   \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		if (retain->many.marks[i] != RETAIN_NOT)                                                               \
			keep_call(retain, model->many[i].member);
	MODEL_REFERENCES_TO_CALLS(KEEP)
#undef KEEP
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
#define FOLLOW(one, many, member, others)                                                                              \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		follow(&retain->others, &model->many[i].member);
	MODEL_REFERENCES(FOLLOW)
#undef FOLLOW
}

void retain_apply(struct retain *retain, struct model *model)
{
	struct model_due args_due;

	keep_what_is_referred_to(retain, model);
#define APPLY(one, many, ...)                                                                                          \
	apply_to(retain, &retain->many, model->many, model->many, sizeof(*model->many), &model->one##_count,           \
		 &model->many##_due);
	MODEL_EVENTS(APPLY)
#undef APPLY
	apply_to(retain, &retain->args, model->args, model->args, sizeof(*model->args), &model->args_count, &args_due);
	follow_all(retain, model);
}

/* Room for as many events as the model has. */
#define RESERVE(many, array_count)                                                                                     \
	(arrays->many.items =                                                                                          \
		 array_reserve(arrays->many.items, sizeof(*model->many), 0, array_count, &arrays->many.capacity))

void retain_apply_into(struct retain *retain, struct model *model, struct retain_arrays *arrays)
{
	struct model_due args_due;

	keep_what_is_referred_to(retain, model);
#define APPLY(one, many, ...)                                                                                          \
	apply_to(retain, &retain->many, model->many, RESERVE(many, model->one##_count), sizeof(*model->many),          \
		 &model->one##_count, &model->many##_due);                                                             \
	model->many = arrays->many.items;
	MODEL_EVENTS(APPLY)
#undef APPLY
	apply_to(retain, &retain->args, model->args, RESERVE(args, model->args_count), sizeof(*model->args),
		 &model->args_count, &args_due);
	model->args = arrays->args.items;
	follow_all(retain, model);
}

void retain_arrays_free(struct retain_arrays *arrays)
{
#define FREE(one, many, ...) array_free(&arrays->many);
	MODEL_EVENTS(FREE)
#undef FREE
	array_free(&arrays->args);
}
