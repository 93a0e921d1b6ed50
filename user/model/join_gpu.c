/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU operations once all is known: each with its call, its device, its time on CLOCK_MONOTONIC; in order of time, each
 * in its call's list.
 */
#include "model/tables.h"

#include <string.h>

#include "model/order.h"

bool builder_add_gpu_work(struct builder *builder, struct program program, const struct new_gpu_work *work)
{
	const uint32_t *name = work->name ? lookup_get(&builder->kernel_names, program.space, work->name) : NULL;
	union gpu_slot slot;

	if (work->span.start_ns > work->span.end_ns)
		return false;
	slot.arrival.work = *work;
	slot.arrival.program = program;
	slot.arrival.name = name ? *name : NONE;
	slot.arrival.call = calls_find(&builder->calls, program.space, work->corr);
	array_push(&builder->gpu.arrivals, slot);
	return true;
}

/* All but its call, its times and whose node it is. */
static struct model_gpu operation_of(const struct builder *builder, const struct gpu_arrival *arrival)
{
	const struct new_gpu_work *work = &arrival->work;
	struct model_gpu op = {.bytes = work->bytes,
			       .next = NONE,
			       .process = arrival->program.process,
			       .device = device_table_find(&builder->devices, arrival->program.process, work->device),
			       .context = work->context,
			       .stream = work->stream,
			       .corr = work->corr,
			       .name = arrival->name,
			       .graph = work->graph,
			       .graph_node = work->graph_node,
			       .static_shared_bytes = work->static_shared_bytes,
			       .dynamic_shared_bytes = work->dynamic_shared_bytes,
			       .registers = work->registers,
			       .local_bytes = work->local_bytes,
			       .channel = work->channel,
			       .kind = work->kind & 63,
			       .foreign = work->foreign,
			       .memcpy_kind = work->memcpy_kind,
			       .from = work->from,
			       .to = work->to,
			       .channel_type = work->channel_type,
			       .priority = work->priority};

	memcpy(op.grid, work->grid, sizeof(op.grid));
	memcpy(op.block, work->block, sizeof(op.block));
	memcpy(op.cluster, work->cluster, sizeof(op.cluster));
	return op;
}

/* False: it is work of a call that was made before or after the trace. */
static bool join_one(struct builder *builder, const struct gpu_arrival *arrival, struct model_gpu *op)
{
	const struct new_gpu_work *work = &arrival->work;
	struct program program = arrival->program;
	struct clock_span span = {0};
	uint32_t corr;

	*op = operation_of(builder, arrival);
	op->call = arrival->call != NONE ? calls_place_of(&builder->calls, arrival->call)
					 : calls_place(&builder->calls, program.space, work->corr);
	if (op->call == NONE && api_activity_is_outside(&builder->api_activities, program.process, work->corr))
		return false;
	corr = work->graph_node ? graphs_node_corr(&builder->graphs, program.space, work->graph_node) : 0;
	op->captured_by = corr ? calls_place(&builder->calls, program.space, corr) : NONE;
	if (work->graph && work->graph_node && op->call != NONE)
		graphs_add_operation(&builder->graphs, program.space, op->call, work->graph, work->graph_node);
	device_table_set_stream(&builder->devices, program.space, op);
	if (work->span.end_ns && !convert_span(builder, program.process, (enum source_clock)work->clock, work->span,
					       calls_start(&builder->calls, op->call), &span))
		builder_count_bad(builder);
	op->start_ns = span.start_ns;
	op->end_ns = span.end_ns;
	return true;
}

static void sort(struct gpu_work *gpu)
{
	struct order_key *keys = xmalloc(gpu->count * sizeof(*keys));

	for (size_t i = 0; i < gpu->count; i++)
		keys[i] = (struct order_key){.time_ns = gpu->list[i].start_ns, .index = (uint32_t)i};
	order_sort(keys, gpu->count);
	order_apply(keys, gpu->count, gpu->list, sizeof(gpu->list[0]));
	free(keys);
}

static void link_to_calls(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;
	uint32_t *tails = xmalloc(builder->calls.list.count * sizeof(*tails));

	for (uint32_t i = 0; i < gpu->count; i++) {
		struct model_gpu *op = &gpu->list[i];
		struct model_call *call;

		builder->processes.list.items[op->process].gpu_ops++;
		if (op->call == NONE)
			continue;
		call = &builder->calls.list.items[op->call];
		if (call->gpu_count++)
			gpu->list[tails[op->call]].next = i;
		else
			call->first_gpu = i;
		call->captured = false; /* it was in another stream */
		tails[op->call] = i;
	}
	free(tails);
}

void join_gpu(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;
	union gpu_slot *slots = gpu->arrivals.items;

	for (size_t i = 0; i < gpu->arrivals.count; i++) {
		struct gpu_arrival arrival = slots[i].arrival;
		struct model_gpu op;

		if (join_one(builder, &arrival, &op))
			slots[gpu->count++].joined = op;
	}
	gpu->list = (struct model_gpu *)slots;
	memset(&gpu->arrivals, 0, sizeof(gpu->arrivals));
	graphs_finish(&builder->graphs, &builder->calls);
	leave_out_foreign(builder);
	leave_out_outside(builder);
	sort(gpu);
	link_to_calls(builder);
}
