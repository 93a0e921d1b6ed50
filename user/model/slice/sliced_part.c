/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies a part's arrays, drops events outside of the slice, and cuts spans; see sliced_part.h. */
#include "model/slice/sliced_part.h"

#include <string.h>

/* ---- own arrays ------------------------------------------------------------------------------------------------- */

/* Copies an array of the part into reused memory. */
static void *own_copy(size_t *room, void *copy, const void *source, size_t bytes)
{
	if (!copy || *room < bytes) {
		free(copy);
		*room = bytes + bytes / 4 + 64;
		copy = xmalloc(*room);
	}
	if (bytes)
		memcpy(copy, source, bytes);
	return copy;
}

/* The arrays that the sliced trace owns: X(one, many, ...) as in MODEL_EVENTS. */
#define OWN_ARRAYS(X)                                                                                                  \
	MODEL_EVENTS(X)                                                                                                \
	X(args, args)                                                                                                  \
	X(range, ranges)                                                                                               \
	X(pycall, pycalls)                                                                                             \
	X(op, ops)                                                                                                     \
	X(torch_memory, torch_memories)

void sliced_take_counts(struct sliced_trace *sliced, const struct model *inner)
{
	for (uint32_t i = 0; i < inner->thread_count; i++)
		sliced->threads[i].calls = sliced->thread_calls[i];
	for (uint32_t i = 0; i < inner->process_count; i++) {
		struct model_process *process = &sliced->processes[i];
		const struct sliced_process *counted = &sliced->process_counts[i];

		process->calls = counted->calls;
		process->gpu_ops = counted->gpu_ops;
		process->first_call_ns = counted->first_call_ns;
		process->last_call_ns = counted->last_call_ns;
	}
	sliced->sources[0].receipt = sliced->receipt;
}

static void take_tables(struct sliced_trace *sliced, const struct model *inner)
{
	if (inner->thread_count)
		memcpy(sliced->threads, inner->threads, inner->thread_count * sizeof(*inner->threads));
	if (inner->process_count)
		memcpy(sliced->processes, inner->processes, inner->process_count * sizeof(*inner->processes));
	memcpy(sliced->sources, inner->sources, inner->source_count * sizeof(*inner->sources));
	sliced_take_counts(sliced, inner);
	sliced->part.threads = sliced->threads;
	sliced->part.processes = sliced->processes;
	sliced->part.sources = sliced->sources;
	sliced->part.pyspans = sliced->pyspans;
}

static void take_part(struct sliced_trace *sliced, const struct model *inner)
{
	struct model copy = sliced->part;

	sliced->part = *inner;
#define TAKE(one, many, ...)                                                                                           \
	sliced->part.many = own_copy(&sliced->many##_room, copy.many, inner->many,                                     \
				     (size_t)inner->one##_count * sizeof(*inner->many));
	OWN_ARRAYS(TAKE)
#undef TAKE
	take_tables(sliced, inner);
}

/* ---- spans ------------------------------------------------------------------------------------------------------ */

/* Cuts a thread's spans and writes those that stay to `to`; returns their number. */
/* An array without elements may be NULL, to which nothing may be added. */
static uint32_t cut_thread_spans(const struct sliced_trace *sliced, uint32_t process, const struct model_span *from,
				 uint32_t first, uint32_t spans, struct model_span *to, uint32_t at)
{
	struct slice own = slice_of_process(&sliced->slice, process);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < spans; i++) {
		struct model_span span = from[first + i];

		if (!slice_cut_span(&own, sliced->is_last, &span))
			continue;
		span.continued = span.continued && !sliced->is_first;
		to[at + kept++] = span;
	}
	return kept;
}

static uint32_t cut_ops(const struct sliced_trace *sliced, uint32_t process, const struct model_op *from,
			uint32_t first, uint32_t ops, struct model_op *to, uint32_t at)
{
	struct slice own = slice_of_process(&sliced->slice, process);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ops; i++) {
		struct model_op op = from[first + i];

		if (!slice_cut_op(&own, &op))
			continue;
		op.continued = op.continued && !sliced->is_first;
		to[at + kept++] = op;
	}
	return kept;
}

static void cut_spans(struct sliced_trace *sliced, const struct model *inner)
{
	struct model *part = &sliced->part;

	part->range_count = part->pycall_count = part->pyspan_count = part->op_count = 0;
	for (uint32_t i = 0; i < part->thread_count; i++) {
		const struct model_thread *was = &inner->threads[i];
		struct model_thread *thread = &sliced->threads[i];
		bool has = slice_has_thread(&sliced->slice, inner, i);

		thread->first_range = part->range_count;
		thread->first_pycall = part->pycall_count;
		thread->first_pyspan = part->pyspan_count;
		thread->ranges = cut_thread_spans(sliced, was->process, part->ranges, was->first_range,
						  has ? was->ranges : 0, part->ranges, part->range_count);
		thread->pycalls = cut_thread_spans(sliced, was->process, part->pycalls, was->first_pycall,
						   has ? was->pycalls : 0, part->pycalls, part->pycall_count);
		thread->pyspans = cut_thread_spans(sliced, was->process, inner->pyspans, was->first_pyspan,
						   has ? was->pyspans : 0, part->pyspans, part->pyspan_count);
		thread->first_op = part->op_count;
		thread->ops = cut_ops(sliced, was->process, part->ops, was->first_op, has ? was->ops : 0, part->ops,
				      part->op_count);
		part->op_count += thread->ops;
		thread->ranges_elsewhere = was->ranges_elsewhere;
		thread->pycalls_elsewhere = was->pycalls_elsewhere;
		part->range_count += thread->ranges;
		part->pycall_count += thread->pycalls;
		part->pyspan_count += thread->pyspans;
	}
}

/* ---- a part ----------------------------------------------------------------------------------------------------- */

static void leave_out_torch_memories(struct sliced_trace *sliced, const struct model *inner)
{
	struct model *part = &sliced->part;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < part->torch_memory_count; i++)
		if (slice_has_torch_memory(&sliced->slice, inner, &part->torch_memories[i]))
			part->torch_memories[kept++] = part->torch_memories[i];
	part->torch_memory_count = kept;
}

/* Allocations before the slice are not known, so their releases lose the reference. */
static void forget_allocations(const struct sliced_trace *sliced, struct model *part)
{
	for (uint32_t i = 0; i < part->memory_count; i++) {
		struct model_memory *memory = &part->memories[i];

		if (memory->released && memory->other != NONE &&
		    part->memories[memory->other].time_ns < slice_of_process(&sliced->slice, memory->process).from_ns)
			memory->other = NONE;
	}
}

static void mark_unread(const struct sliced_trace *sliced, struct model *part)
{
	if (sliced->slice.read_from_ns <= part->start_ns)
		return;
	for (uint32_t i = 0; i < part->gpu_count; i++)
		if (part->gpu[i].call == NONE)
			part->gpu[i].before = 1;
}

static void number_events(struct sliced_trace *sliced)
{
	struct model *part = &sliced->part;

#define NUMBER(one, many, ...)                                                                                         \
	part->many##_in_part.number = sliced->many##_number;                                                           \
	sliced->many##_number += in_part_end(&part->many##_in_part, part->one##_count) - part->many##_in_part.from;
	MODEL_EVENTS(NUMBER)
#undef NUMBER
}

/* Numbers start over; calls that are only referred to have none. */
static void number_calls(struct sliced_trace *sliced)
{
	struct model *part = &sliced->part;

	if (sliced->first_call == UINT64_MAX && part->calls_in_part.from < part->call_count)
		sliced->first_call = part->calls[part->calls_in_part.from].number;
	for (uint32_t i = 0; i < part->call_count; i++) {
		struct model_call *call = &part->calls[i];

		if (slice_has_call(&sliced->slice, part, call)) {
			call->number -= sliced->first_call;
			continue;
		}
		call->number = CALL_OUTSIDE;
		call->op = 0;
	}
}

/* Its references to events of an inner part are gone with that part. */
static struct model_crossing crossing_of(const struct model *part, const struct model_gpu *op)
{
	struct model_crossing crossing = {.op = *op};

	crossing.has_launch = op->call != NONE;
	crossing.has_captured = op->captured_by != NONE;
	if (crossing.has_launch)
		crossing.launch = part->calls[op->call];
	if (crossing.has_captured)
		crossing.captured = part->calls[op->captured_by];
	crossing.op.call = crossing.op.captured_by = crossing.op.next = NONE;
	crossing.launch.first_gpu = crossing.captured.first_gpu = NONE;
	crossing.launch.args = crossing.captured.args = NONE;
	crossing.launch.op = crossing.captured.op = 0;
	return crossing;
}

void sliced_find_crossings(struct sliced_trace *sliced, const struct model *inner)
{
	const struct slice *slice = &sliced->slice;

	for (uint32_t i = inner->gpu_in_part.from; i < in_part_end(&inner->gpu_in_part, inner->gpu_count); i++) {
		const struct model_gpu *op = &inner->gpu[i];
		struct model_crossing *crossing;

		if (!slice_is_crossed_by(slice, inner, op))
			continue;
		crossing = array_push(&sliced->crossings, crossing_of(inner, op));
		crossing->op.start_ns = slice->spans ? slice->spans[op->process].from_ns : slice->from_ns;
	}
}

static void narrow_window(const struct sliced_trace *sliced, struct model *part)
{
	uint64_t end_ns = part->end_ns > part->start_ns ? part->end_ns : part->start_ns;

	if (sliced->slice.from_ns > part->start_ns)
		part->start_ns = sliced->slice.from_ns < end_ns ? sliced->slice.from_ns : end_ns;
	if (sliced->to_ns < end_ns)
		part->end_ns = sliced->to_ns > part->start_ns ? sliced->to_ns : part->start_ns;
}

/* GPU work that goes with its launch may end after the interval. */
static void find_end(struct sliced_trace *sliced, const struct model *part)
{
	if (!sliced->slice.by_launch)
		return;
	for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count); i++)
		if (part->gpu[i].end_ns > sliced->to_ns)
			sliced->to_ns = part->gpu[i].end_ns;
}

/* Whether no later part has anything of the slice. The first walk finds out how long GPU work goes on. */
static bool ends_in(const struct sliced_trace *sliced, const struct model *inner)
{
	return !inner->more || ((!sliced->slice.by_launch || sliced->is_counted) && inner->until_ns >= sliced->to_ns);
}

static void describe_part(struct sliced_trace *sliced, const struct model *inner)
{
	struct model *part = &sliced->part;

	narrow_window(sliced, part);
	part->crossings = sliced->crossings.items;
	part->crossing_count = (uint32_t)sliced->crossings.count;
	part->slice = sliced->words;
	part->totals = inner->totals ? &sliced->totals : NULL;
	part->continued = !sliced->is_first;
	part->more = !sliced->is_last;
}

const struct model *sliced_make_part(struct sliced_trace *sliced, const struct model *inner)
{
	struct model *part = &sliced->part;

	sliced->is_last = ends_in(sliced, inner);
	sliced_find_crossings(sliced, inner);
	take_part(sliced, inner);
	cut_spans(sliced, inner);
	leave_out_torch_memories(sliced, inner);
	forget_allocations(sliced, part);
	mark_unread(sliced, part);
	keep_begin(&sliced->keep, part);
	slice_mark(&sliced->slice, part, &sliced->keep);
	keep_apply(&sliced->keep, part);
	find_end(sliced, part);
	describe_part(sliced, inner);
	number_events(sliced);
	number_calls(sliced);
	sliced->is_first = false;
	return part;
}

/* ---- after the last part ---------------------------------------------------------------------------------------- */

/* Leaves the part's tables, without events. */
static struct model without_events(const struct model *inner)
{
	struct model model = *inner;

	model.pyspan_count = 0;
#define NO_EVENTS(one, many, ...) model.one##_count = 0;
	OWN_ARRAYS(NO_EVENTS)
#undef NO_EVENTS
#define NONE_IN_PART(one, many, ...) model.many##_in_part = (struct model_in_part){0};
	MODEL_EVENTS(NONE_IN_PART)
#undef NONE_IN_PART
	return model;
}

void sliced_take_tables(struct sliced_trace *sliced, const struct model *last)
{
	struct model tables = without_events(last);

	take_part(sliced, &tables);
	for (uint32_t i = 0; i < last->thread_count; i++) {
		struct model_thread *thread = &sliced->threads[i];

		thread->ranges = thread->pycalls = thread->pyspans = thread->ops = 0;
	}
	sliced->crossings.count = 0;
	describe_part(sliced, last);
}

void sliced_part_free(struct sliced_trace *sliced)
{
#define FREE(one, many, ...) free(sliced->part.many);
	OWN_ARRAYS(FREE)
#undef FREE
	array_free(&sliced->crossings);
	keep_free(&sliced->keep);
}
