/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins the driver's compilations for the GPU (JIT) and CUPTI's own overhead. */
#include <stdlib.h>

#include "model/order.h"
#include "model/join/tables.h"

bool builder_add_agent_overhead(struct builder *builder, const struct sender *sender,
				const struct gpt_agent_overhead *overhead)
{
	if (overhead->start_wall_ns > overhead->end_wall_ns)
		return false;
	receive_overhead(builder, PENDING(overhead, sender, overhead), 0);
	return true;
}

bool builder_add_agent_jit(struct builder *builder, const struct sender *sender, const struct gpt_agent_jit *jit)
{
	if (jit->start_wall_ns > jit->end_wall_ns)
		return false;
	/* useless without times; an operation newer than this code has no name */
	if (!jit->end_wall_ns || jit->operation < GPT_AGENT_JIT_CACHE_LOAD || jit->operation > GPT_AGENT_JIT_COMPILE)
		return true;
	receive_jit(builder, PENDING(jit, sender, jit), jit->corr);
	return true;
}

static void add_overheads(struct builder *builder)
{
	for (size_t i = 0; i < builder->pending_overheads.count; i++) {
		const struct pending_overhead *pending = &builder->pending_overheads.items[i];
		const struct gpt_agent_overhead *from = &pending->record;
		struct model_overhead overhead = {
			.process = pending->program.process, .kind = from->kind, .tid = from->tid};
		struct clock_span span = {from->start_wall_ns, from->end_wall_ns};

		if (!span.end_ns)
			continue;
		if (!convert_span(builder, overhead.process, pending->clock, span, 0, &span)) {
			builder_count_bad(builder, BAD_TIME, 1);
			continue;
		}
		overhead.start_ns = span.start_ns;
		overhead.end_ns = span.end_ns;
		if (!lies_outside(builder, NONE, span))
			array_push(&builder->overheads, overhead);
	}
	builder->pending_overheads.count = 0;
}

void join_overheads(struct builder *builder, uint64_t complete_ns, uint64_t until_ns)
{
	size_t from = builder->model->overheads_in_part.from;

	(void)complete_ns;
	(void)until_ns;
	add_overheads(builder);
	if (builder->overheads.count > from)
		order_by_time(builder->overheads.items + from, builder->overheads.count - from,
			      sizeof(builder->overheads.items[0]), offsetof(struct model_overhead, start_ns));
}

static void sort_jits(struct builder *builder, size_t from)
{
	if (builder->jits.count > from)
		order_by_time(builder->jits.items + from, builder->jits.count - from, sizeof(builder->jits.items[0]),
			      offsetof(struct model_jit, start_ns));
}

/* False: it must wait, as its call has not arrived yet. */
static bool add_jit(struct builder *builder, const struct pending_jit *pending, uint64_t until_ns)
{
	const struct gpt_agent_jit *from = &pending->record;
	struct model_jit jit = {.bytes = from->bytes,
				.call = calls_place(&builder->calls, pending->program.epoch, from->corr),
				.process = pending->program.process,
				.tid = from->tid,
				.corr = from->corr,
				.operation = (uint8_t)from->operation,
				.entry = from->entry <= GPT_AGENT_JIT_NVVM_TO_PTX ? (uint8_t)from->entry : 0};
	struct clock_span span = {from->start_wall_ns, from->end_wall_ns};

	if (!convert_span(builder, jit.process, pending->clock, span, calls_start(&builder->calls, jit.call), &span)) {
		builder_count_bad(builder, BAD_TIME, 1);
		return true;
	}
	jit.start_ns = span.start_ns;
	jit.end_ns = span.end_ns;
	if (jit.call == NONE && jit.corr && jit.start_ns >= until_ns)
		return false;
	if (!lies_outside(builder, jit.call, span))
		array_push(&builder->jits, jit);
	return true;
}

void join_jits(struct builder *builder, uint64_t complete_ns, uint64_t until_ns)
{
	size_t waiting = 0;

	(void)until_ns;
	for (size_t i = 0; i < builder->pending_jits.count; i++) {
		const struct pending_jit pending = builder->pending_jits.items[i];

		if (!add_jit(builder, &pending, complete_ns))
			builder->pending_jits.items[waiting++] = pending;
	}
	builder->pending_jits.count = waiting;
	sort_jits(builder, builder->model->jits_in_part.from);
}
