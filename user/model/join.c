/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be done once every record is known: times on one clock, everything in order of time, each GPU
 * operation in its call's list.  Who belongs to whom was found by identity before (calls.c, agent_batch.c).
 */
#include "model/builder.h"

#include <string.h>

#include "model/order.h"

/*
 * GPU work lies within the recording; an hour allows for work that was under way before it, and for clocks
 * that were set.  Beyond it a time is invented.
 */
#define OUTSIDE_MAX_NS (3600ull * 1000000000)

/* Error of the header's wall clock sample, which is two clock reads in a row. */
#define HEADER_CLOCK_ERROR_NS 1000

bool convert_span(struct builder *builder, uint32_t process, uint64_t not_before_ns, uint64_t *start_ns,
		  uint64_t *end_ns)
{
	uint64_t first = builder->model->start_ns > OUTSIDE_MAX_NS ? builder->model->start_ns - OUTSIDE_MAX_NS : 0;
	uint64_t last = builder->last_ns < UINT64_MAX - OUTSIDE_MAX_NS ? builder->last_ns + OUTSIDE_MAX_NS : UINT64_MAX;
	uint32_t track = builder->processes.states.items[process].clock;
	uint64_t length = *end_ns - *start_ns, start;

	/* one offset for both ends: CUPTI fitted them together, and the length is the GPU's own */
	if (*start_ns & WALL_CLOCK_MONOTONIC)
		start = *start_ns & ~WALL_CLOCK_MONOTONIC;
	else
		start = *start_ns - (uint64_t)wall_clock_offset(&builder->clock, track, *start_ns, not_before_ns);
	if (start < first || start > last || length > last - start)
		return false;
	*start_ns = start;
	*end_ns = start + length;
	return true;
}

static void convert_ops(struct builder *builder)
{
	for (size_t i = 0; i < builder->agents.gpu.count; i++) {
		struct model_gpu *op = &builder->agents.gpu.items[i];
		uint64_t call_ns = op->call != NONE ? builder->calls.list.items[op->call].start_ns : 0;

		if (!op->end_ns || convert_span(builder, op->process, call_ns, &op->start_ns, &op->end_ns))
			continue;
		op->start_ns = op->end_ns = 0;
		model_source(builder->model)->receipt.bad_records++;
	}
}

static void convert_overheads(struct builder *builder)
{
	size_t kept = 0;

	for (size_t i = 0; i < builder->agents.overheads.count; i++) {
		struct model_overhead overhead = builder->agents.overheads.items[i];

		if (!overhead.end_ns)
			continue;
		if (!convert_span(builder, overhead.process, 0, &overhead.start_ns, &overhead.end_ns))
			model_source(builder->model)->receipt.bad_records++;
		else if (!begins_behind(builder, NONE, overhead.start_ns))
			builder->agents.overheads.items[kept++] = overhead;
	}
	builder->agents.overheads.count = kept;
}

static void convert_jits(struct builder *builder)
{
	struct order_key *keys;
	size_t kept = 0;

	for (size_t i = 0; i < builder->agents.jits.count; i++) {
		struct model_jit jit = builder->agents.jits.items[i];
		uint64_t call_ns = jit.call != NONE ? builder->calls.list.items[jit.call].start_ns : 0;

		if (!convert_span(builder, jit.process, call_ns, &jit.start_ns, &jit.end_ns))
			model_source(builder->model)->receipt.bad_records++;
		else if (!begins_behind(builder, jit.call, jit.start_ns))
			builder->agents.jits.items[kept++] = jit;
	}
	builder->agents.jits.count = kept;
	keys = xmalloc(kept * sizeof(*keys));
	for (size_t i = 0; i < kept; i++)
		keys[i] = (struct order_key){.time_ns = builder->agents.jits.items[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, kept);
	order_apply(keys, kept, builder->agents.jits.items, sizeof(builder->agents.jits.items[0]));
	free(keys);
}

void prepare_clock(struct builder *builder)
{
	if (!builder->clock.collector.samples.count) {
		struct wall_clock_sample header = {.mono_ns = builder->model->start_ns,
						   .offset_ns = model_source(builder->model)->wall_offset_ns,
						   .error_ns = HEADER_CLOCK_ERROR_NS};

		wall_clock_add_sample(&builder->clock.collector, header);
	}
	wall_clock_prepare(&builder->clock);
}

/* Rounding of two clocks that were read one after the other. */
#define ROUNDING_NS 100

void join_api_activities(struct builder *builder)
{
	struct api_activities *table = &builder->api_activities;
	struct api_activity_terms terms = {
		.until_ns = builder->model->end_ns,
		.calls_lost = model_source(builder->model)->receipt.counters[GPT_COUNTER_CALLS_LOST] != 0};
	size_t kept = 0;

	for (size_t i = 0; i < table->list.count; i++) {
		struct api_activity activity = table->list.items[i];

		if (convert_span(builder, activity.process, 0, &activity.start_ns, &activity.end_ns))
			table->list.items[kept++] = activity;
		else
			model_source(builder->model)->receipt.bad_records++;
	}
	table->list.count = kept;
	for (size_t i = 0; i < kept; i++)
		table->list.items[i].error_ns = builder->clock.error_ns + ROUNDING_NS;
	api_activities_join(table, &terms);
	for (size_t i = 0; i < builder->processes.list.count; i++) {
		struct model_process *process = &builder->processes.list.items[i];

		/* One that stopped before the trace did: what came after its last record it no longer saw. */
		if (process->borrowed_end_ns && process->borrowed_end_ns < terms.until_ns)
			process->borrowed_end_ns = i < table->ranges.count ? table->ranges.items[i].end_ns : 0;
		else
			process->borrowed_end_ns = terms.until_ns;
	}
}

void convert_times(struct builder *builder)
{
	convert_ops(builder);
	convert_overheads(builder);
	convert_jits(builder);
}

static void move(uint32_t *call, const uint32_t *moved)
{
	if (*call != NONE)
		*call = moved[*call];
}

void join_calls(struct builder *builder)
{
	size_t count = builder->calls.list.count;
	struct order_key *keys = xmalloc(count * sizeof(*keys));
	uint32_t *moved;

	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.time_ns = builder->calls.list.items[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, count);
	moved = xmalloc(count * sizeof(*moved));
	for (size_t i = 0; i < count; i++)
		moved[keys[i].index] = (uint32_t)i;
	for (size_t i = 0; i < builder->agents.gpu.count; i++) {
		move(&builder->agents.gpu.items[i].call, moved);
		move(&builder->agents.gpu.items[i].captured_by, moved);
	}
	for (size_t i = 0; i < builder->agents.syncs.count; i++)
		move(&builder->agents.syncs.items[i].call, moved);
	for (size_t i = 0; i < builder->agents.jits.count; i++)
		move(&builder->agents.jits.items[i].call, moved);
	for (size_t i = 0; i < builder->agents.memories.count; i++)
		move(&builder->agents.memories.items[i].call, moved);
	for (size_t i = 0; i < builder->agents.events.count; i++)
		move(&builder->agents.events.items[i].call, moved);
	order_apply(keys, count, builder->calls.list.items, sizeof(builder->calls.list.items[0]));
	free(moved);
	free(keys);
}

void join_gpu(struct builder *builder)
{
	size_t count = builder->agents.gpu.count;
	struct order_key *keys = xmalloc(count * sizeof(*keys));
	uint32_t *tails = xmalloc(builder->calls.list.count * sizeof(*tails));

	for (size_t i = 0; i < count; i++)
		keys[i] = (struct order_key){.time_ns = builder->agents.gpu.items[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, count);
	order_apply(keys, count, builder->agents.gpu.items, sizeof(builder->agents.gpu.items[0]));
	for (uint32_t i = 0; i < count; i++) {
		struct model_gpu *op = &builder->agents.gpu.items[i];
		struct model_call *call;

		if (op->call == NONE)
			continue;
		call = &builder->calls.list.items[op->call];
		if (call->gpu_count++)
			builder->agents.gpu.items[tails[op->call]].next = i;
		else
			call->first_gpu = i;
		call->captured = false; /* it was in another stream */
		tails[op->call] = i;
	}
	free(tails);
	free(keys);
}
