/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds inputs' events about ranges, PyTorch ops and steps (builder.h) to their tables. */
#include <string.h>

#include "model/op_inputs.h"
#include "model/steps/steps.h"
#include "model/join/tables.h"

/* ---- ranges that the program names ------------------------------------------------------------------------------- */

bool builder_add_range(struct builder *builder, struct process_image program, const struct new_range *range)
{
	/* a part must end before ranges that arrive later */
	if (builder->pass == PASS_FIRST)
		lateness_note_begin(&builder->lateness, NONE, range->time_ns);
	return ranges_add(&builder->ranges, program, range);
}

void builder_lose_ranges(struct builder *builder, struct process_image program, uint64_t count, uint64_t from_ns,
			 uint64_t to_ns)
{
	ranges_lose(&builder->ranges, program, count, from_ns, to_ns);
}

/* ---- ops of PyTorch ---------------------------------------------------------------------------------------------- */

void builder_add_op_text(struct builder *builder, struct process_image program, uint32_t key, struct text text)
{
	ops_add_text(&builder->ops, program, key, text);
}

bool builder_add_op_inputs(struct builder *builder, struct process_image program, uint32_t key, struct text text)
{
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];

	if (!op_inputs_split(text.bytes, text.size, parts))
		return false;
	ops_add_text(&builder->ops, program, key, text);
	return true;
}

/* Records of older agents are shorter. */
static struct gpt_agent_op whole_op(const struct gpt_agent_op *op)
{
	struct gpt_agent_op whole = {.collective_sequence = -1};

	memcpy(&whole, op, op->hdr.size < sizeof(whole) ? op->hdr.size : sizeof(whole));
	if (!(whole.inputs & GPT_AGENT_NAME_OF_INPUTS))
		whole.inputs = 0;
	return whole;
}

bool builder_add_agent_op(struct builder *builder, const struct sender *sender, const struct gpt_agent_op *record)
{
	struct gpt_agent_op op = whole_op(record);
	struct process_image program = sender->program;
	struct op_texts texts;
	enum disposition what;

	/* later than its own batch: not this machine's clock (a time namespace shifts it) */
	if (op.end_ns > sender->time_ns || op.end_ns < op.start_ns || builder->ops.pending.count >= NONE - 1)
		return false;
	/* left over in the agent from an earlier trace */
	if (op.start_ns < builder->model->start_ns)
		return true;
	if (!builder->first)
		ops_note_thread(&builder->ops, program, op.tid);
	what = disposition_of(builder, program, 0, SOURCE_CLOCK_MONOTONIC, op.start_ns);
	if (what == IGNORE)
		return true;
	texts = (struct op_texts){
		.name = ops_text(&builder->ops, program, op.name),
		.inputs = op.inputs ? ops_text(&builder->ops, program, op.inputs) : NONE,
		.collective = op.collective ? ops_text(&builder->ops, program, op.collective) : NONE,
	};
	if (what == DEFER)
		defer(builder,
		      &(struct deferred_event){.kind = DEFERRED_OP, .program = program, .op = op, .texts = texts});
	else
		ops_add(&builder->ops, program, &op, texts);
	return true;
}

void builder_add_op_state(struct builder *builder, struct process_image program, const struct gpt_agent_ops *state,
			  struct text detail)
{
	if (!builder->first)
		ops_add_state(&builder->ops, program, state, detail);
}

/* No computer has a PB of memory; sums of sizes invented by a target must not overflow. */
#define TORCH_BYTES_MAX (1ll << 50)

bool builder_add_agent_torch_memory(struct builder *builder, const struct sender *sender,
				    const struct gpt_agent_torch_memory *event)
{
	struct process_image program = sender->program;
	enum disposition what;

	if (event->time_ns > sender->time_ns || event->kind < GPT_AGENT_TORCH_MEMORY_ALLOCATED)
		return false;
	if (event->kind > GPT_AGENT_TORCH_MEMORY_OUT) /* newer than this reader */
		return true;
	if (event->bytes >= TORCH_BYTES_MAX || event->bytes <= -TORCH_BYTES_MAX ||
	    builder->torch_memory.pending.count >= NONE - 1 ||
	    (event->bytes < 0) != (event->kind == GPT_AGENT_TORCH_MEMORY_FREED && event->has_totals))
		return false;
	/* left over in the agent from an earlier trace */
	if (event->time_ns < builder->model->start_ns)
		return true;
	if (!builder->first)
		ops_note_thread(&builder->ops, program, event->tid);
	what = disposition_of(builder, program, 0, SOURCE_CLOCK_MONOTONIC, event->time_ns);
	if (what == DEFER)
		defer(builder,
		      &(struct deferred_event){.kind = DEFERRED_TORCH_MEMORY, .program = program, .torch = *event});
	else if (what == JOIN)
		torch_memory_add(&builder->torch_memory, program, event);
	return true;
}

void builder_add_torch_memory_state(struct builder *builder, struct process_image program,
				    const struct gpt_agent_torch_memory_state *state, struct text detail)
{
	if (!builder->first)
		torch_memory_add_state(&builder->torch_memory, &builder->processes, program, state, detail);
}

/* ---- steps of a schedule ----------------------------------------------------------------------------------------- */

bool builder_add_agent_schedule(struct builder *builder, const struct sender *sender,
				const struct gpt_agent_schedule *schedule)
{
	uint64_t waited = schedule->skip_first_wait ? 0 : schedule->wait;
	bool was_shared = builder->model->schedule.is_shared;

	(void)sender;
	builder->model->schedule = (struct model_schedule){
		.is_there = true,
		.is_capture = schedule->by == GPT_STEP_BY_CAPTURE,
		.is_shared = was_shared || schedule->shared,
		.windows_ms = schedule->hdr.size >= sizeof(*schedule) ? schedule->windows_ms : 0,
		.first = schedule->skip_first + waited + schedule->warmup};
	return true;
}

/* For a long trace, pass 1 has all steps. */
bool builder_add_agent_step(struct builder *builder, const struct sender *sender, const struct gpt_agent_step *step)
{
	struct pending_reported_step pending = {.tid = step->tid};

	if (step->time_ns > sender->time_ns || step->by == GPT_STEP_BY_FIRST)
		return false;
	if (step->phase > GPT_STEP_OVER || step->by > GPT_STEP_BY_CAPTURE) /* newer than this reader */
		return true;
	if (builder->first || step->time_ns < builder->model->start_ns)
		return true;
	builder->late_steps += step->late != 0;
	builder->steps_lost += step->lost;
	if (builder->pending_reported_steps.count >= STEPS_MAX)
		return false;
	ops_note_thread(&builder->ops, sender->program, step->tid);
	pending.step = (struct model_reported_step){.time_ns = step->time_ns,
						    .number = step->number,
						    .process = sender->program.process,
						    .thread = NONE,
						    .cycle = step->cycle,
						    .phase = (enum gpt_step_phase)step->phase,
						    .by = (enum gpt_step_by)step->by,
						    .after_lost = step->lost != 0};
	array_push(&builder->pending_reported_steps, pending);
	return true;
}

void find_reported_steps(struct builder *builder)
{
	array_each (pending, &builder->pending_reported_steps) {
		pending->step.thread = ops_thread(&builder->ops, pending->step.process, pending->tid);
		array_push(&builder->reported_steps, pending->step);
	}
	builder->pending_reported_steps.count = 0;
}
