/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU operations once all is known: each with its call, its device, its time on CLOCK_MONOTONIC; in order of time, each
 * in its call's list.
 */
#include "model/tables.h"

#include <string.h>

#include "base/array.h"
#include "model/order.h"

static uint32_t name_of(const struct builder *builder, struct program program, const struct new_gpu_work *work)
{
	const uint32_t *name = work->name ? lookup_get(&builder->kernel_names, program.space, work->name) : NULL;

	return name ? *name : NONE;
}

bool builder_add_gpu_work(struct builder *builder, struct program program, const struct new_gpu_work *work)
{
	enum told what;

	if (work->span.start_ns > work->span.end_ns)
		return false;
	learn_gpu_work(builder, program, work);
	what = told(builder, program, work->corr, (enum source_clock)work->clock, work->span.start_ns);
	if (what == TOLD_LATE)
		keep_late(builder, &(struct late){.kind = LATE_GPU_WORK,
						  .program = program,
						  .name = name_of(builder, program, work),
						  .work = *work});
	else if (what == TOLD_NOW)
		gpu_work_add(builder, program, work, name_of(builder, program, work));
	return true;
}

void gpu_work_add(struct builder *builder, struct program program, const struct new_gpu_work *work, uint32_t name)
{
	struct gpu_work *gpu = &builder->gpu;
	struct gpu_arrival *arrival;

	gpu->arrivals.items = array_reserve(gpu->arrivals.items, sizeof(*gpu->arrivals.items), gpu->arrivals.count, 1,
					    &gpu->arrivals.capacity);
	arrival = &gpu->arrivals.items[gpu->arrivals.count++].arrival;
	arrival->work = *work;
	arrival->program = program;
	arrival->name = name;
	/* a second reading looks for it when the calls of the part are in order */
	arrival->call = builder->first ? NONE : calls_find(&builder->calls, program.space, work->corr);
}

/* All but its call, its times and whose node it is. */
static void set_operation(struct model_gpu *op, const struct builder *builder, const struct gpu_arrival *arrival)
{
	const struct new_gpu_work *work = &arrival->work;

	*op = (struct model_gpu){
		.bytes = work->bytes,
		.next = NONE,
		.process = arrival->program.process,
		.device = device_table_find(&known(builder)->devices, arrival->program.process, work->device),
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
	memcpy(op->grid, work->grid, sizeof(op->grid));
	memcpy(op->block, work->block, sizeof(op->block));
	memcpy(op->cluster, work->cluster, sizeof(op->cluster));
}

/* False: it is work of a call that was made before or after the trace.  The two do not share memory. */
static bool join_one(struct builder *builder, const struct gpu_arrival *arrival, struct model_gpu *op)
{
	const struct new_gpu_work *work = &arrival->work;
	struct program program = arrival->program;
	struct clock_span span = {0};
	uint32_t corr;

	set_operation(op, builder, arrival);
	op->call = arrival->call != NONE ? calls_place_of(&builder->calls, arrival->call)
					 : calls_place(&builder->calls, program.space, work->corr);
	if (op->call == NONE && api_activity_is_outside(&known(builder)->api_activities, program.process, work->corr))
		return false;
	corr = work->graph_node ? graphs_node_corr(&known(builder)->graphs, program.space, work->graph_node) : 0;
	op->captured_by = corr ? calls_place(&builder->calls, program.space, corr) : NONE;
	if (work->graph && work->graph_node && op->call != NONE && !builder->first)
		graphs_add_operation(&builder->graphs, program.space, op->call, work->graph, work->graph_node);
	device_table_set_stream(&known(builder)->devices, program.space, op);
	if (work->span.end_ns && !convert_span(builder, program.process, (enum source_clock)work->clock, work->span,
					       calls_start(&builder->calls, op->call), &span))
		builder_count_bad(builder);
	op->start_ns = span.start_ns;
	op->end_ns = span.end_ns;
	return true;
}

static void sort(struct model_gpu *ops, size_t count)
{
	order_by_time(ops, count, sizeof(*ops), offsetof(struct model_gpu, start_ns));
}

/* tails: by call, the last of its operations so far. */
static void link_to_call(struct gpu_work *gpu, struct model_call *call, uint32_t op, uint32_t *tails)
{
	uint32_t *tail = &tails[gpu->list[op].call];

	if (call->gpu_count++)
		gpu->list[*tail].next = op;
	else
		call->first_gpu = op;
	call->captured = false; /* it was in another stream */
	*tail = op;
}

static void link_to_calls(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;
	uint32_t *tails = xmalloc(builder->calls.list.count * sizeof(*tails));

	for (uint32_t i = 0; i < gpu->count; i++) {
		const struct model_gpu *op = &gpu->list[i];

		builder->processes.list.items[op->process].gpu_ops++;
		if (op->call != NONE)
			link_to_call(gpu, &builder->calls.list.items[op->call], i, tails);
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
	gpu->count = leave_out_foreign(builder, gpu->list, gpu->count);
	gpu->count = leave_out_outside(builder, gpu->list, gpu->count);
	sort(gpu->list, gpu->count);
	link_to_calls(builder);
}

/* ---- part by part ------------------------------------------------------------------------------------------------ */

/* Joins what has come, behind what was there.  What waits for its call is joined later. */
static void join_arrivals(struct builder *builder, uint64_t until_ns)
{
	struct gpu_work *gpu = &builder->gpu;
	/* where the wall clock was set, the call tells which of two times is meant */
	bool in_doubt = until_ns != UINT64_MAX && wall_clock_steps(&builder->first->clock);
	size_t waiting = 0;

	if (!gpu->arrivals.count)
		return;
	gpu->joined.items = array_reserve(gpu->joined.items, sizeof(*gpu->joined.items), gpu->joined.count,
					  gpu->arrivals.count, &gpu->joined.capacity);
	for (size_t i = 0; i < gpu->arrivals.count; i++) {
		struct model_gpu *op = &gpu->joined.items[gpu->joined.count];

		if (!join_one(builder, &gpu->arrivals.items[i].arrival, op))
			continue;
		if (op->call != NONE || !op->corr || !op->end_ns || (op->start_ns < until_ns && !in_doubt))
			gpu->joined.count++;
		else if (waiting++ < i)
			gpu->arrivals.items[waiting - 1] = gpu->arrivals.items[i];
	}
	gpu->arrivals.count = waiting;
}

/* Lists of operations anew: all that the calls at hand have is at hand, too. */
static void link_part(struct builder *builder)
{
	struct gpu_work *gpu = &builder->gpu;
	size_t count = builder->calls.list.count;
	struct model_call *calls = builder->calls.list.items;
	uint32_t *tails = xmalloc(count * sizeof(*tails));

	for (size_t i = 0; i < count; i++) {
		calls[i].gpu_count = 0;
		calls[i].first_gpu = NONE;
	}
	for (uint32_t i = 0; i < gpu->count; i++) {
		gpu->list[i].next = NONE;
		if (gpu->list[i].call != NONE)
			link_to_call(gpu, &calls[gpu->list[i].call], i, tails);
	}
	free(tails);
}

/* In order of time, but behind what is due before until_ns what is not; returns how many those are. */
static uint32_t order_part(const struct builder *builder, struct model_gpu *ops, size_t count, uint64_t until_ns)
{
	size_t untimed = 0, kept = 0, due;
	struct model_gpu *later;

	sort(ops, count);
	while (untimed < count && !ops[untimed].start_ns)
		untimed++;
	due = untimed + order_count_before(ops + untimed, count - untimed, sizeof(*ops),
					   offsetof(struct model_gpu, start_ns), until_ns);
	/* what has no time of its own comes with its call */
	later = xmalloc(untimed * sizeof(*later));
	for (size_t i = 0; i < untimed; i++) {
		if (calls_start(&builder->calls, ops[i].call) < until_ns)
			ops[kept++] = ops[i];
		else
			later[i - kept] = ops[i];
	}
	if (kept < untimed) {
		memmove(ops + kept, ops + untimed, (due - untimed) * sizeof(*ops));
		memcpy(ops + kept + (due - untimed), later, (untimed - kept) * sizeof(*ops));
	}
	free(later);
	return (uint32_t)(count - due + (untimed - kept));
}

void join_gpu_part(struct builder *builder, uint64_t settled_ns, uint64_t until_ns)
{
	struct gpu_work *gpu = &builder->gpu;
	uint32_t from = builder->model->gpu_due.from;
	size_t before = gpu->joined.count;
	struct model_gpu *items;

	join_arrivals(builder, settled_ns);
	items = gpu->joined.items;
	if (gpu->joined.count > before)
		gpu->joined.count = before + leave_out_outside(builder, items + before, gpu->joined.count - before);
	builder->model->gpu_due.later = 0;
	if (gpu->joined.count > from) {
		gpu->joined.count = from + leave_out_foreign(builder, items + from, gpu->joined.count - from);
		builder->model->gpu_due.later = order_part(builder, items + from, gpu->joined.count - from, until_ns);
	}
	gpu->list = gpu->joined.items;
	gpu->count = gpu->joined.count;
	link_part(builder);
}
