/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which ranges are open on a thread is determined when a call comes. */
#include "analyze/sums/nvtx.h"

#include <stdlib.h>
#include <string.h>

#include "model/range_name.h"
#include "base/order.h"

/* Ranges of a thread without calls that are kept without checking whether they are over. */
#define BEGUN_KEPT 64u

static bool has_ranges(const struct model_thread *thread)
{
	return thread->ranges || thread->ranges_elsewhere;
}

static void find_threads(struct nvtx *all, const struct model *model)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->thread_count; i++)
		count += has_ranges(&model->threads[i]);
	if (!count)
		return;
	all->thread_count = model->thread_count;
	all->threads = xcalloc(model->thread_count, sizeof(*all->threads));
	all->first_of_process = xmalloc(model->process_count * sizeof(*all->first_of_process));
	for (uint32_t i = 0; i < model->process_count; i++)
		all->first_of_process[i] = NONE;
	for (uint32_t i = 0; i < model->thread_count; i++) {
		uint32_t *first = &all->first_of_process[model->threads[i].process];

		all->threads[i].outermost = NONE;
		if (!has_ranges(&model->threads[i]))
			continue;
		all->threads[i].has_ranges = true;
		all->threads[i].next_of_process = *first;
		*first = i;
	}
}

void nvtx_init(struct nvtx *all, const struct model *model)
{
	*all = (struct nvtx){0};
	find_threads(all, model);
	nvtx_begin_part(all, model);
}

void nvtx_begin_part(struct nvtx *all, const struct model *part)
{
	all->model = part;
	while (all->threads && all->names.count < part->string_count)
		array_push(&all->names, ((struct nvtx_name){.row_name = NONE, .thread = NONE}));
}

void nvtx_free(struct nvtx *all)
{
	for (uint32_t i = 0; i < all->thread_count; i++) {
		array_free(&all->threads[i].open);
		array_free(&all->threads[i].begun);
		array_free(&all->threads[i].ended);
	}
	free(all->threads);
	free(all->first_of_process);
	array_free(&all->names);
	lookup_free(&all->prefixes);
	tally_free(&all->keys);
	array_free(&all->rows);
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static uint32_t row_name(struct nvtx *all, uint32_t string)
{
	const char *const *strings = all->model->strings;
	uint32_t *known = &all->names.items[string].row_name, *first;
	size_t length;

	if (*known != NONE)
		return *known;
	length = range_name_length(strings[string]);
	first = lookup_put(&all->prefixes, 1, hash_bytes(hash_seed(), strings[string], length), string);
	*known = string;
	if (*first != string && !strncmp(strings[*first], strings[string], length) &&
	    range_name_length(strings[*first]) == length)
		*known = *first;
	return *known;
}

static uint32_t row_of(struct nvtx *all, const struct model_span *range)
{
	uint32_t name = row_name(all, range->name);
	size_t known = all->rows.count, row;

	if (range->thread < all->names.items[name].thread) {
		all->names.items[name].thread = range->thread;
		all->names.items[name].name = range->name;
	}
	row = tally_number(&all->keys, (struct tally_key){{name, range->domain}});
	if (row == known)
		array_push(&all->rows, ((struct nvtx_row){.name = name, .domain = range->domain}));
	return (uint32_t)row;
}

/* ---- ranges ------------------------------------------------------------------------------------------------ */

DEFINE_ORDER(by_number, struct nvtx_end, least_first(a->number, b->number))

static void end_those(const struct nvtx_thread *thread, struct nvtx_open *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct nvtx_end wanted = {.number = ranges[i].number};
		const struct nvtx_end *end = NULL;

		if (ranges[i].end_ns == UINT64_MAX)
			end = bsearch(&wanted, thread->ended.items, thread->ended.count, sizeof(wanted), by_number);
		if (end)
			ranges[i].end_ns = end->end_ns;
	}
}

/* To be called before checking which ranges are over. */
static void end_ranges(struct nvtx_thread *thread)
{
	if (!thread->ended.count)
		return;
	array_sort(&thread->ended, by_number);
	end_those(thread, thread->open.items, thread->open.count);
	end_those(thread, thread->begun.items, thread->begun.count);
	thread->ended.count = 0;
}

/* Drops ranges that began since the latest call and have ended by now: no call will come inside them. */
static void forget_ended(struct nvtx_thread *thread, uint64_t now_ns)
{
	size_t kept = 0;

	end_ranges(thread);
	for (size_t i = 0; i < thread->begun.count; i++)
		if (thread->begun.items[i].end_ns >= now_ns)
			thread->begun.items[kept++] = thread->begun.items[i];
	thread->begun.count = kept;
	thread->forget_at = 2 * kept + BEGUN_KEPT;
}

void nvtx_add_range(struct nvtx *all, const struct range_event *event)
{
	const struct model_span *range = event->range;
	struct nvtx_thread *thread = &all->threads[range->thread];
	uint32_t index;

	if (range->kind == MODEL_SPAN_MARK)
		return;
	index = row_of(all, range);
	all->rows.items[index].open_ns += range->open ? 0 : range->end_ns - range->start_ns;
	all->rows.items[index].ranges++;
	if (thread->begun.count >= thread->forget_at)
		forget_ended(thread, range->start_ns);
	array_push(&thread->begun,
		   ((struct nvtx_open){.end_ns = range->end_ns, .number = range->number, .row = index}));
}

void nvtx_end_range(struct nvtx *all, const struct range_event *event)
{
	const struct model_span *range = event->range;
	struct nvtx_thread *thread = &all->threads[range->thread];

	all->rows.items[row_of(all, range)].open_ns += range->end_ns - range->start_ns;
	array_push(&thread->ended, ((struct nvtx_end){.number = range->number, .end_ns = range->end_ns}));
	if (thread->ended.count > thread->open.count + thread->begun.count)
		end_ranges(thread);
}

static void leave_ended(struct nvtx_thread *thread, uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < thread->open.count; i++)
		if (thread->open.items[i].end_ns >= time_ns)
			thread->open.items[kept++] = thread->open.items[i];
	thread->open.count = kept;
}

/* Finds the ranges of a thread that are open at a time; times only increase. */
static void advance_thread(struct nvtx *all, struct nvtx_thread *thread, uint64_t time_ns)
{
	end_ranges(thread);
	for (size_t i = 0; i < thread->begun.count; i++) {
		struct nvtx_open begun = thread->begun.items[i];

		if (begun.end_ns < time_ns)
			continue;
		if (thread->open.count == NVTX_OPEN_MAX)
			leave_ended(thread, time_ns);
		if (thread->open.count < NVTX_OPEN_MAX)
			array_push(&thread->open, begun);
		else
			all->left_out++;
	}
	thread->begun.count = 0;
	leave_ended(thread, time_ns);
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

static uint32_t outermost_code(const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack;

	if (call->stack == NONE)
		return NONE;
	stack = &model->stacks[call->stack];
	return model->frames[model->stack_frames[stack->first + stack->depth - 1]].code;
}

/*
 * The thread that waits in backward(): the only one with ranges whose outermost function is that of the inherited
 * stack.
 */
static struct nvtx_thread *thread_in_backward(struct nvtx *all, const struct call_event *event)
{
	uint32_t code = outermost_code(all->model, event->call);
	struct nvtx_thread *found = NULL;

	for (uint32_t i = all->first_of_process[event->process]; i != NONE; i = all->threads[i].next_of_process) {
		if (all->threads[i].outermost != code || code == NONE)
			continue;
		if (found)
			return NULL;
		found = &all->threads[i];
	}
	if (found)
		advance_thread(all, found, event->call->start_ns);
	return found;
}

static struct nvtx_thread *thread_of(struct nvtx *all, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct nvtx_thread *thread = &all->threads[call->thread];

	if (call->stack_state == GPT_STACK_BACKWARD)
		return thread_in_backward(all, event);
	if (!thread->has_ranges)
		return NULL;
	advance_thread(all, thread, call->start_ns);
	if (call->stack != NONE)
		thread->outermost = outermost_code(all->model, call);
	return thread;
}

/* A name counts once, however many of its ranges are open. */
static bool is_open_before(const struct nvtx_thread *thread, size_t index)
{
	return any_of(index, i, thread->open.items[i].row == thread->open.items[index].row);
}

void nvtx_add_call(struct nvtx *all, const struct call_event *event)
{
	struct nvtx_thread *thread = all->threads ? thread_of(all, event) : NULL;

	if (!thread || !event->gpu_count)
		return;
	for (size_t i = 0; i < thread->open.count; i++) {
		struct nvtx_row *row = &all->rows.items[thread->open.items[i].row];

		if (is_open_before(thread, i))
			continue;
		row->ns += event->gpu_ns;
		row->count += event->gpu_count;
	}
	all->covered_ns += thread->open.count ? event->gpu_ns : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_time, struct nvtx_row,
	     most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?:
	     (a->count ? 0 : most_first(a->open_ns, b->open_ns)) ?: least_first(a->name, b->name) ?:
	     least_first(a->domain, b->domain))

void nvtx_finish(struct nvtx *all)
{
	for (size_t i = 0; i < all->rows.count; i++)
		all->rows.items[i].name = all->names.items[all->rows.items[i].name].name;
	array_sort(&all->rows, by_time);
}
