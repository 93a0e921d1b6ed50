/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins the driver's compilations for the GPU (JIT) and CUPTI's own overhead. */
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

bool join_overhead(struct builder *builder, const struct pending_overhead *pending, uint64_t complete_ns)
{
	const struct gpt_agent_overhead *from = &pending->record;
	struct model_overhead overhead = {.process = pending->program.process, .kind = from->kind, .tid = from->tid};
	struct clock_span span = {from->start_wall_ns, from->end_wall_ns};
	enum event_place place;

	if (!span.end_ns)
		return true;
	place = place_event(
		builder,
		&(struct event_origin){
			.process = overhead.process, .clock = pending->clock, .call = NONE, .shared = pending->shared},
		&span, complete_ns);
	overhead.start_ns = span.start_ns;
	overhead.end_ns = span.end_ns;
	if (place == EVENT_IN_TRACE)
		array_push(&builder->overheads, overhead);
	return true;
}

bool join_jit(struct builder *builder, const struct pending_jit *pending, uint64_t complete_ns)
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
	enum event_place place = place_event(builder,
					     &(struct event_origin){.process = jit.process,
								    .clock = pending->clock,
								    .call = jit.call,
								    .corr = jit.corr,
								    .shared = pending->shared,
								    .waits = jit.corr != 0},
					     &span, complete_ns);

	jit.start_ns = span.start_ns;
	jit.end_ns = span.end_ns;
	if (place == EVENT_IN_TRACE)
		array_push(&builder->jits, jit);
	return place != EVENT_WAITS;
}
