/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the events that stay, starting from the marks; then compacts each array and replaces indices. */
#include "model/keep.h"

#include <string.h>

static void begin_events(struct kept_events *events, uint32_t count)
{
	if (events->room < count || !events->marks) {
		free(events->marks);
		free(events->places);
		events->room = count + count / 4 + 16;
		events->marks = xmalloc(events->room * sizeof(*events->marks));
		events->places = xmalloc(events->room * sizeof(*events->places));
	}
	memset(events->marks, KEEP_NOT, count);
}

void keep_begin(struct keep *keep, const struct model *model)
{
#define BEGIN(one, many, ...) begin_events(&keep->many, model->one##_count);
	MODEL_EVENTS(BEGIN)
#undef BEGIN
	begin_events(&keep->args, model->args_count);
}

static void free_events(struct kept_events *events)
{
	free(events->marks);
	free(events->places);
}

void keep_free(struct keep *keep)
{
#define FREE(one, many, ...) free_events(&keep->many);
	MODEL_EVENTS(FREE)
#undef FREE
	free_events(&keep->args);
	array_free(&keep->pending);
	free(keep->scratch);
	memset(keep, 0, sizeof(*keep));
}

/* ---- events that stay ------------------------------------------------------------------------------------------- */

/* Keeps an unmarked call; its operations must be visited, too. */
static void keep_call(struct keep *keep, uint32_t call)
{
	if (call == NONE || keep->calls.marks[call] != KEEP_NOT)
		return;
	keep->calls.marks[call] = KEEP_REFERRED;
	array_push(&keep->pending, call);
}

static void keep_calls_of_operation(struct keep *keep, const struct model_gpu *op)
{
	keep_call(keep, op->call);
	keep_call(keep, op->captured_by);
}

static void keep_operations(struct keep *keep, const struct model *model, uint32_t call)
{
	for (uint32_t op = model->calls[call].first_gpu; op != NONE; op = model->gpu[op].next) {
		if (keep->gpu.marks[op] != KEEP_NOT)
			continue;
		keep->gpu.marks[op] = KEEP_REFERRED;
		keep_calls_of_operation(keep, &model->gpu[op]);
	}
}

/* Keeps the allocations of releases that stay. */
static void keep_allocations(struct keep *keep, const struct model *model)
{
	uint8_t *marks = keep->memories.marks;

	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];

		if (marks[i] != KEEP_NOT && memory->released && memory->other != NONE &&
		    marks[memory->other] == KEEP_NOT)
			marks[memory->other] = KEEP_REFERRED;
	}
}

static void keep_what_is_referred_to(struct keep *keep, const struct model *model)
{
	keep->pending.count = 0;
	keep_allocations(keep, model);
#define KEEP(one, many, member, ...)                                                                                   \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		if (keep->many.marks[i] != KEEP_NOT)                                                                   \
			keep_call(keep, model->many[i].member);
	MODEL_REFERENCES_TO_CALLS(KEEP)
#undef KEEP
	for (uint32_t i = 0; i < model->call_count; i++)
		if (keep->calls.marks[i] != KEEP_NOT)
			keep_operations(keep, model, i);
	while (keep->pending.count)
		keep_operations(keep, model, keep->pending.items[--keep->pending.count]);
	for (uint32_t i = 0; i < model->call_count; i++)
		if (keep->calls.marks[i] != KEEP_NOT && model->calls[i].args != NONE)
			keep->args.marks[model->calls[i].args] = KEEP_IN_PART;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static void reserve_scratch(struct keep *keep, size_t bytes)
{
	if (keep->scratch && keep->scratch_bytes >= bytes)
		return;
	free(keep->scratch);
	keep->scratch_bytes = bytes + bytes / 4 + 64;
	keep->scratch = xmalloc(keep->scratch_bytes);
}

/* The new index of the first event with each mark; [KEEP_MARKS]: the number of events that stay. */
static void find_begins(const struct kept_events *events, uint32_t count, uint32_t begins[KEEP_MARKS + 1])
{
	uint32_t counts[KEEP_MARKS] = {0};

	for (uint32_t i = 0; i < count; i++)
		counts[events->marks[i]]++;
	begins[KEEP_NOT] = begins[KEEP_REFERRED] = 0;
	for (int mark = KEEP_IN_PART; mark <= KEEP_MARKS; mark++)
		begins[mark] = begins[mark - 1] + counts[mark - 1];
}

/* Moves the part's events forward over evicted ones; the others stay in a buffer until their places are free. */
static void move_events(struct keep *keep, const struct kept_events *events, uint8_t *items, size_t size,
			uint32_t count, const uint32_t begins[KEEP_MARKS + 1])
{
	size_t kept = (begins[KEEP_IN_PART] - begins[KEEP_REFERRED]) * size;
	size_t in_part = (begins[KEEP_LATER] - begins[KEEP_IN_PART]) * size;
	size_t later = (begins[KEEP_MARKS] - begins[KEEP_LATER]) * size;
	uint8_t *to[KEEP_MARKS];

	reserve_scratch(keep, kept + later);
	to[KEEP_REFERRED] = keep->scratch;
	to[KEEP_IN_PART] = items;
	to[KEEP_LATER] = keep->scratch + kept;
	for (uint32_t i = 0, end; i < count; i = end) {
		uint8_t mark = events->marks[i];

		for (end = i + 1; end < count && events->marks[end] == mark;)
			end++;
		if (mark == KEEP_NOT)
			continue;
		memmove(to[mark], items + i * size, (end - i) * size);
		to[mark] += (end - i) * size;
	}
	memmove(items + kept, items, in_part);
	memcpy(items, keep->scratch, kept);
	memcpy(items + kept + in_part, keep->scratch + kept, later);
}

/* Copies each event to its place in another array. */
static void copy_events(const struct kept_events *events, const uint8_t *items, uint8_t *into, size_t size,
			uint32_t count)
{
	for (uint32_t i = 0, end; i < count; i = end) {
		uint8_t mark = events->marks[i];

		for (end = i + 1; end < count && events->marks[end] == mark;)
			end++;
		if (mark != KEEP_NOT)
			memcpy(into + events->places[i] * size, items + i * size, (end - i) * size);
	}
}

/* into: another array of at least that capacity, or `items` itself. */
static void apply_to(struct keep *keep, struct kept_events *events, void *items, void *into, size_t size,
		     uint32_t *count, struct model_in_part *part)
{
	uint32_t begins[KEEP_MARKS + 1], next[KEEP_MARKS];

	find_begins(events, *count, begins);
	memcpy(next, begins, sizeof(next));
	for (uint32_t i = 0; i < *count; i++)
		events->places[i] = events->marks[i] == KEEP_NOT ? NONE : next[events->marks[i]]++;
	if (*count && into == items)
		move_events(keep, events, items, size, *count, begins);
	else if (*count)
		copy_events(events, items, into, size, *count);
	*count = begins[KEEP_MARKS];
	part->from = begins[KEEP_IN_PART];
	part->later = begins[KEEP_MARKS] - begins[KEEP_LATER];
}

/* ---- references ------------------------------------------------------------------------------------------------- */

static void follow_index(const struct kept_events *events, uint32_t *index)
{
	if (*index != NONE)
		*index = events->places[*index];
}

static void follow_all(const struct keep *keep, struct model *model)
{
#define FOLLOW(one, many, member, others)                                                                              \
	for (uint32_t i = 0; i < model->one##_count; i++)                                                              \
		follow_index(&keep->others, &model->many[i].member);
	MODEL_REFERENCES(FOLLOW)
#undef FOLLOW
}

void keep_apply(struct keep *keep, struct model *model)
{
	struct model_in_part args_in_part;

	keep_what_is_referred_to(keep, model);
#define APPLY(one, many, ...)                                                                                          \
	apply_to(keep, &keep->many, model->many, model->many, sizeof(*model->many), &model->one##_count,               \
		 &model->many##_in_part);
	MODEL_EVENTS(APPLY)
#undef APPLY
	apply_to(keep, &keep->args, model->args, model->args, sizeof(*model->args), &model->args_count, &args_in_part);
	follow_all(keep, model);
}

/* Reserves room for as many events as the model has. */
#define RESERVE(many, array_count)                                                                                     \
	(arrays->many.items =                                                                                          \
		 array_reserve(arrays->many.items, sizeof(*model->many), 0, array_count, &arrays->many.capacity))

void keep_apply_into(struct keep *keep, struct model *model, struct kept_arrays *arrays)
{
	struct model_in_part args_in_part;

	keep_what_is_referred_to(keep, model);
#define APPLY(one, many, ...)                                                                                          \
	apply_to(keep, &keep->many, model->many, RESERVE(many, model->one##_count), sizeof(*model->many),              \
		 &model->one##_count, &model->many##_in_part);                                                         \
	model->many = arrays->many.items;
	MODEL_EVENTS(APPLY)
#undef APPLY
	apply_to(keep, &keep->args, model->args, RESERVE(args, model->args_count), sizeof(*model->args),
		 &model->args_count, &args_in_part);
	model->args = arrays->args.items;
	follow_all(keep, model);
}

void kept_arrays_free(struct kept_arrays *arrays)
{
#define FREE(one, many, ...) array_free(&arrays->many);
	MODEL_EVENTS(FREE)
#undef FREE
	array_free(&arrays->args);
}
