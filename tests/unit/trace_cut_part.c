/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a part: its events, the events they refer to, and tables up to the last entry met. */
#include <stdlib.h>
#include <string.h>

#include "trace_cut_internal.h"

/* ---- what a part needs ----------------------------------------------------------------------------------------- */

static void need_call(struct cut *cut, uint32_t index);

static void need_gpu(struct cut *cut, uint32_t index)
{
	if (index == NONE || cut->needed[GPU][index])
		return;
	cut->needed[GPU][index] = 1;
	need_call(cut, cut->whole->gpu[index].call);
	need_call(cut, cut->whole->gpu[index].captured_by);
}

static void need_call(struct cut *cut, uint32_t index)
{
	if (index == NONE || cut->needed[CALLS][index])
		return;
	cut->needed[CALLS][index] = 1;
	for (uint32_t op = cut->whole->calls[index].first_gpu; op != NONE; op = cut->whole->gpu[op].next)
		need_gpu(cut, op);
}

/* While an allocation is not released, its later release is unknown. */
static void need_memory(struct cut *cut, uint32_t index)
{
	if (index == NONE || cut->needed[MEMORIES][index] || cut->part_of[MEMORIES][index] > cut->at)
		return;
	cut->needed[MEMORIES][index] = 1;
	need_call(cut, cut->whole->memories[index].call);
	need_memory(cut, cut->whole->memories[index].other);
}

static void need_event(struct cut *cut, enum kind kind, uint32_t index)
{
	const struct model *whole = cut->whole;

	if (kind == CALLS) {
		need_call(cut, index);
	} else if (kind == GPU) {
		need_gpu(cut, index);
	} else if (kind == MEMORIES) {
		need_memory(cut, index);
	} else {
		cut->needed[kind][index] = 1;
		if (kind == JITS)
			need_call(cut, whole->jits[index].call);
		if (kind == SYNCS)
			need_call(cut, whole->syncs[index].call);
		if (kind == SYNCS)
			need_call(cut, whole->syncs[index].recorded_by);
	}
}

static void need_all(struct cut *cut)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		memset(cut->needed[kind], 0, cut_count(cut->whole, kind));
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (uint32_t i = 0; i < cut_count(cut->whole, kind); i++)
			if (cut->part_of[kind][i] == cut->at)
				need_event(cut, kind, i);
}

/* ---- a part's arrays --------------------------------------------------------------------------------------------- */

static void *part_alloc(struct cut *cut, size_t size)
{
	struct block block = {xcalloc(1, size + 1), size};

	array_push(&cut->blocks, block);
	return block.bytes;
}

static void *part_copy(struct cut *cut, const void *from, size_t size)
{
	void *copy = part_alloc(cut, size);

	if (size)
		memcpy(copy, from, size);
	return copy;
}

/* Overwrites the memory first: a reader that looks back finds garbage, or the address sanitizer reports it. */
void cut_drop_part(struct cut *cut)
{
	for (size_t i = 0; i < cut->blocks.count; i++) {
		memset(cut->blocks.items[i].bytes, 0xa5, cut->blocks.items[i].size);
		free(cut->blocks.items[i].bytes);
	}
	cut->blocks.count = 0;
}

static void place_kind(struct cut *cut, enum kind kind)
{
	struct model_in_part in_part = {0};
	uint32_t count = 0;
	char *items;

	for (uint32_t i = 0; i < cut_count(cut->whole, kind); i++) {
		in_part.number += cut->part_of[kind][i] < cut->at;
		if (!cut->needed[kind][i])
			continue;
		in_part.from += cut->part_of[kind][i] < cut->at;
		in_part.later += cut->part_of[kind][i] > cut->at;
		count++;
	}
	items = part_alloc(cut, count * cut_kinds[kind].size);
	count = 0;
	for (int when = -1; when <= 1; when++)
		for (uint32_t i = 0; i < cut_count(cut->whole, kind); i++) {
			uint32_t part = cut->part_of[kind][i];

			if (!cut->needed[kind][i] || (part > cut->at) - (part < cut->at) != when)
				continue;
			memcpy(items + count * cut_kinds[kind].size, cut_item(cut, kind, i), cut_kinds[kind].size);
			cut->place[kind][i] = count++;
		}
	*(char **)((char *)&cut->part + cut_kinds[kind].items) = items;
	*(uint32_t *)((char *)&cut->part + cut_kinds[kind].count) = count;
	*(struct model_in_part *)((char *)&cut->part + cut_kinds[kind].in_part) = in_part;
}

static void move_index(const struct cut *cut, enum kind kind, uint32_t *index)
{
	if (*index != NONE)
		*index = cut->needed[kind][*index] ? cut->place[kind][*index] : NONE;
}

static void move_indices(struct cut *cut)
{
	struct model *part = &cut->part;

	part->args = part_alloc(cut, part->call_count * sizeof(*part->args));
	part->args_count = 0;
	for (uint32_t i = 0; i < part->call_count; i++) {
		struct model_call *call = &part->calls[i];

		move_index(cut, GPU, &call->first_gpu);
		if (call->args == NONE)
			continue;
		part->args[part->args_count] = cut->whole->args[call->args];
		call->args = part->args_count++;
	}
	for (uint32_t i = 0; i < part->gpu_count; i++) {
		move_index(cut, CALLS, &part->gpu[i].call);
		move_index(cut, CALLS, &part->gpu[i].captured_by);
		move_index(cut, GPU, &part->gpu[i].next);
	}
	for (uint32_t i = 0; i < part->jit_count; i++)
		move_index(cut, CALLS, &part->jits[i].call);
	for (uint32_t i = 0; i < part->sync_count; i++) {
		move_index(cut, CALLS, &part->syncs[i].call);
		move_index(cut, CALLS, &part->syncs[i].recorded_by);
	}
	for (uint32_t i = 0; i < part->memory_count; i++) {
		move_index(cut, CALLS, &part->memories[i].call);
		move_index(cut, MEMORIES, &part->memories[i].other);
	}
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

/* Adds the thread's spans that are open at some time in the part to `to`; returns how many. */
static uint32_t add_spans(const struct cut *cut, const struct model_span *spans, uint32_t first, uint32_t count,
			  struct model_span *to, bool *elsewhere)
{
	uint64_t from_ns = cut->at ? cut->times.items[cut->at - 1] : 0;
	uint64_t until_ns = cut->part.more ? cut->part.until_ns : UINT64_MAX;
	uint32_t added = 0;

	*elsewhere = false;
	for (uint32_t i = first; i < first + count; i++) {
		struct model_span span = spans[i];

		span.number = i;
		span.continued = cut->at && span.start_ns < from_ns;
		span.open = cut->part.more && span.end_ns >= until_ns;
		*elsewhere |= span.continued || span.open || span.start_ns >= until_ns;
		if ((span.continued && span.end_ns < from_ns) || (cut->part.more && span.start_ns >= until_ns))
			continue;
		if (span.open) {
			span.end_ns = UINT64_MAX;
			span.truncated = false;
		}
		to[added++] = span;
	}
	return added;
}

/* The same for ops, whose end is known. An op outside the nesting is only in the part in which it begins. */
static uint32_t add_ops(const struct cut *cut, const struct model_thread *thread, struct model_op *to)
{
	uint64_t from_ns = cut->at ? cut->times.items[cut->at - 1] : 0;
	uint32_t added = 0;

	for (uint32_t i = thread->first_op; i < thread->first_op + thread->ops; i++) {
		struct model_op op = cut->whole->ops[i];

		op.continued = cut->at && op.start_ns < from_ns;
		if ((op.continued && (op.overlaps || op.end_ns <= from_ns)) ||
		    (cut->part.more && op.start_ns >= cut->part.until_ns))
			continue;
		to[added++] = op;
	}
	return added;
}

static void place_ops(struct cut *cut)
{
	struct model *part = &cut->part;

	part->ops = part_alloc(cut, cut->whole->op_count * sizeof(*part->ops));
	part->op_count = 0;
	for (uint32_t i = 0; i < part->thread_count; i++) {
		part->threads[i].first_op = part->op_count;
		part->threads[i].ops = add_ops(cut, &cut->whole->threads[i], part->ops + part->op_count);
		part->op_count += part->threads[i].ops;
	}
}

static void place_spans(struct cut *cut)
{
	const struct model *whole = cut->whole;
	struct model *part = &cut->part;

	part->threads = part_copy(cut, whole->threads, whole->thread_count * sizeof(*whole->threads));
	part->ranges = part_alloc(cut, whole->range_count * sizeof(*whole->ranges));
	part->pycalls = part_alloc(cut, whole->pycall_count * sizeof(*whole->pycalls));
	part->pyspans = part_copy(cut, whole->pyspans, whole->pyspan_count * sizeof(*whole->pyspans));
	part->range_count = part->pycall_count = 0;
	for (uint32_t i = 0; i < part->thread_count; i++) {
		const struct model_thread *of = &whole->threads[i];
		struct model_thread *thread = &part->threads[i];

		thread->first_range = part->range_count;
		thread->ranges = add_spans(cut, whole->ranges, of->first_range, of->ranges,
					   part->ranges + part->range_count, &thread->ranges_elsewhere);
		part->range_count += thread->ranges;
		thread->first_pycall = part->pycall_count;
		thread->pycalls = add_spans(cut, whole->pycalls, of->first_pycall, of->pycalls,
					    part->pycalls + part->pycall_count, &thread->pycalls_elsewhere);
		part->pycall_count += thread->pycalls;
	}
}

/* ---- tables that grow -------------------------------------------------------------------------------------------- */

static void meet_index(uint32_t *met, uint32_t index)
{
	if (index != NONE && index >= *met)
		*met = index + 1;
}

static void meet_spans(struct cut *cut)
{
	const struct model *part = &cut->part;

	for (uint32_t i = 0; i < part->range_count; i++) {
		meet_index(&cut->strings, part->ranges[i].name);
		meet_index(&cut->strings, part->ranges[i].domain);
	}
	for (uint32_t i = 0; i < part->pyspan_count; i++)
		meet_index(&cut->strings, part->pyspans[i].name);
	for (uint32_t i = 0; i < part->pycall_count; i++)
		meet_index(&cut->codes, part->pycalls[i].code);
}

static void meet_ops(struct cut *cut)
{
	for (uint32_t i = 0; i < cut->part.op_count; i++) {
		const struct model_op *op = &cut->part.ops[i];

		meet_index(&cut->strings, op->name);
		meet_index(&cut->strings, op->inputs);
		meet_index(&cut->strings, op->node);
		meet_index(&cut->stacks, op->stack);
		meet_index(&cut->stacks, op->forward);
	}
	/* every part has the collectives and NCCL calls of all parts */
	for (uint32_t i = 0; i < cut->part.collective_count; i++)
		meet_index(&cut->strings, cut->part.collectives[i].params);
	for (uint32_t i = 0; i < cut->part.nccl_call_count; i++)
		meet_index(&cut->strings, cut->part.nccl_calls[i].params);
}

static void meet_all(struct cut *cut)
{
	const struct model *part = &cut->part, *whole = cut->whole;

	if (!part->more) {
		cut->strings = whole->string_count;
		cut->codes = whole->code_count;
		cut->frames = whole->frame_count;
		cut->stacks = whole->stack_count;
		cut->natives = whole->native_count;
		return;
	}
	meet_spans(cut);
	meet_ops(cut);
	for (uint32_t i = 0; i < part->gpu_count; i++) {
		meet_index(&cut->strings, part->gpu[i].name);
		meet_index(&cut->strings, part->gpu[i].label);
		meet_index(&cut->strings, part->gpu[i].place);
	}
	for (uint32_t i = 0; i < part->call_count; i++) {
		meet_index(&cut->stacks, part->calls[i].stack);
		meet_index(&cut->natives, part->calls[i].native);
		meet_index(&cut->strings, part->calls[i].node);
		meet_index(&cut->stacks, part->calls[i].forward);
	}
	for (uint32_t i = 0; i < part->sample_count; i++) {
		meet_index(&cut->stacks, part->samples[i].stack);
		meet_index(&cut->natives, part->samples[i].native);
	}
	for (uint32_t i = 0; i < part->wait_count; i++) {
		meet_index(&cut->stacks, part->waits[i].stack);
		meet_index(&cut->stacks, part->waits[i].waker_stack);
		meet_index(&cut->natives, part->waits[i].native);
	}
	for (uint32_t i = 0; i < cut->stacks; i++)
		for (uint32_t k = 0; k < whole->stacks[i].depth; k++)
			meet_index(&cut->frames, whole->stack_frames[whole->stacks[i].first + k]);
	for (uint32_t i = 0; i < cut->frames; i++)
		meet_index(&cut->codes, whole->frames[i].code);
	for (uint32_t i = 0; i < cut->natives; i++)
		for (uint32_t k = 0; k < whole->natives[i].depth; k++)
			meet_index(&cut->strings, whole->native_frames[whole->natives[i].first + k]);
}

static const char *part_text(struct cut *cut, const char *text)
{
	return part_copy(cut, text, strlen(text) + 1);
}

static void place_tables(struct cut *cut)
{
	const struct model *whole = cut->whole;
	struct model *part = &cut->part;

	part->string_count = cut->strings;
	part->strings = part_alloc(cut, cut->strings * sizeof(*part->strings));
	for (uint32_t i = 0; i < cut->strings; i++)
		part->strings[i] = part_text(cut, whole->strings[i]);
	part->code_count = cut->codes;
	part->codes = part_copy(cut, whole->codes, cut->codes * sizeof(*part->codes));
	for (uint32_t i = 0; i < cut->codes; i++) {
		part->codes[i].name = part_text(cut, whole->codes[i].name);
		part->codes[i].file = part_text(cut, whole->codes[i].file);
	}
	part->frame_count = cut->frames;
	part->frames = part_copy(cut, whole->frames, cut->frames * sizeof(*part->frames));
	part->stack_count = cut->stacks;
	part->stacks = part_copy(cut, whole->stacks, cut->stacks * sizeof(*part->stacks));
	part->stack_frames = part_copy(cut, whole->stack_frames, whole->stack_frame_count * sizeof(uint32_t));
	part->native_count = cut->natives;
	part->natives = part_copy(cut, whole->natives, cut->natives * sizeof(*part->natives));
	part->native_frames = part_copy(cut, whole->native_frames, whole->native_frame_count * sizeof(uint32_t));
}

static void place_sums(struct cut *cut)
{
	const struct model *whole = cut->whole;
	struct model *part = &cut->part;

	part->processes = part_copy(cut, whole->processes, whole->process_count * sizeof(*whole->processes));
	part->devices = part_copy(cut, whole->devices, whole->device_count * sizeof(*whole->devices));
	if (!part->more)
		return;
	for (uint32_t i = 0; i < whole->process_count; i++)
		part->processes[i].gpu_ops = 0;
	for (uint32_t i = 0; i < whole->gpu_count; i++)
		part->processes[whole->gpu[i].process].gpu_ops += cut->part_of[GPU][i] <= cut->at;
	cut->source = whole->sources[0];
	cut->source.receipt = (struct model_receipt){.clock_error_ns = whole->sources[0].receipt.clock_error_ns};
	part->sources = &cut->source;
	part->source_count = 1;
}

const struct model *cut_make_part(struct cut *cut)
{
	cut_drop_part(cut);
	cut->part = *cut->whole;
	cut->part.private = NULL;
	cut->part.totals = &cut->totals.found;
	cut->part.continued = cut->at > 0;
	cut->part.more = cut->at < cut->times.count;
	cut->part.until_ns = cut->part.more ? cut->times.items[cut->at] : 0;
	need_all(cut);
	for (enum kind kind = 0; kind < KINDS; kind++)
		place_kind(cut, kind);
	move_indices(cut);
	place_spans(cut);
	place_ops(cut);
	meet_all(cut);
	place_tables(cut);
	place_sums(cut);
	return &cut->part;
}
