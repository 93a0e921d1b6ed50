/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts joined events, and what was seen and lost; does not change events. */
#include "model/join/receipt.h"

#include <stddef.h>
#include <string.h>

#include "model/join/tables.h"

static bool is_transfer(const struct model_call *call)
{
	return call->class == GPT_CLASS_MEMCPY || call->class == GPT_CLASS_MEMSET;
}

/* Whether this call can be attributed to a Python line, its innermost frame's. */
static bool has_line(const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack;

	if (call->stack == NONE)
		return false;
	stack = &model->stacks[call->stack];
	return model->frames[model->stack_frames[stack->first]].line != 0;
}

static void count_launch(struct model_receipt *receipt, const struct model *model, const struct model_call *call,
			 enum launch_fate fate)
{
	bool expected = fate >= LAUNCH_WHOLE && fate <= LAUNCH_MISSED;

	receipt->launches += fate > LAUNCH_FAILED;
	receipt->launches_failed += fate == LAUNCH_FAILED;
	receipt->launches_with_stack += fate > LAUNCH_FAILED && call->stack != NONE;
	receipt->launches_with_line += fate > LAUNCH_FAILED && has_line(model, call);
	receipt->launches_captured += fate == LAUNCH_CAPTURED;
	receipt->launches_expected += expected;
	receipt->launches_joined += expected && fate != LAUNCH_MISSED;
	receipt->launches_whole += fate == LAUNCH_WHOLE;
	receipt->launches_short += fate == LAUNCH_SHORT;
	receipt->launches_agent_away += fate == LAUNCH_AWAY;
	receipt->launches_no_agent += fate == LAUNCH_ALONE;
}

static void count_calls(struct receipt_count *count, const struct model *model)
{
	struct model_receipt *receipt = &count->sums;

	for (uint32_t i = model->calls_in_part.from; i < in_part_end(&model->calls_in_part, model->call_count); i++) {
		const struct model_call *call = &model->calls[i];
		enum launch_fate fate = launch_fate(model, call);
		bool did_nothing = call->captured || (call->end_ns && call->result);

		receipt->calls++;
		receipt->calls_with_stack += call->stack != NONE;
		receipt->stacks_missing += call->stack_state == GPT_STACK_LOST;
		receipt->stacks_lowered += call->stack_state == GPT_STACK_LOWERED;
		receipt->operations_missing += call->nodes_missing;
		receipt->operations_missing +=
			fate == LAUNCH_MISSED || (is_transfer(call) && call->corr && !call->gpu_count && !did_nothing);
		count_launch(receipt, model, call, fate);
		gap_launches_add(&count->gaps, model, call, fate);
		cut_launches_add(&count->cuts, model, call, fate);
	}
}

static void add_saturated(uint64_t *sum, uint64_t value)
{
	*sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

static void count_gpu(struct model_receipt *receipt, const struct model *model)
{
	uint64_t clock_error_ns = model_source(model)->receipt.clock_error_ns;

	for (uint32_t i = model->gpu_in_part.from; i < in_part_end(&model->gpu_in_part, model->gpu_count); i++) {
		const struct model_gpu *op = &model->gpu[i];
		const struct model_call *call = op->call != NONE ? &model->calls[op->call] : NULL;
		uint32_t attributed = gpu_attributed_call(model, op);

		receipt->gpu_ops++;
		receipt->gpu_ops_joined += op->call != NONE;
		receipt->gpu_ops_foreign += op->foreign;
		receipt->gpu_ops_before += op->before;
		receipt->gpu_ops_migrated += gpu_is_migration(op);
		if (!op->end_ns) {
			receipt->gpu_ops_untimed++;
			continue;
		}
		add_saturated(&receipt->gpu_ns, op->end_ns - op->start_ns);
		if (op->graph)
			add_saturated(&receipt->graph_ns, op->end_ns - op->start_ns);
		if (op->graph && attributed != op->call)
			add_saturated(&receipt->graph_ns_captured, op->end_ns - op->start_ns);
		if (attributed != NONE && has_line(model, &model->calls[attributed]))
			add_saturated(&receipt->gpu_ns_with_line, op->end_ns - op->start_ns);
		if (attributed != NONE && model->calls[attributed].stack != NONE)
			add_saturated(&receipt->gpu_ns_with_function, op->end_ns - op->start_ns);
		if (!call)
			continue;
		if (call->start_ns > op->start_ns && call->start_ns - op->start_ns > clock_error_ns) {
			receipt->early++;
			if (call->start_ns - op->start_ns > receipt->early_max_ns)
				receipt->early_max_ns = call->start_ns - op->start_ns;
		}
	}
}

void receipt_add_part(struct receipt_count *count, const struct model *part)
{
	count_calls(count, part);
	count_gpu(&count->sums, part);
}

static void sum_lost(struct model_receipt *receipt)
{
	struct model_loss losses[MODEL_LOSSES];

	model_losses(receipt, losses);
	receipt->lost = 0;
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		add_saturated(&receipt->lost, losses[i].count);
}

/* Copies the sums over events: they come first. */
static void take_sums(const struct model_receipt *sums, struct model_receipt *receipt)
{
	memcpy(receipt, sums, offsetof(struct model_receipt, early_max_ns) + sizeof(sums->early_max_ns));
	receipt->gaps = receipt->gap_ns = receipt->gap_launches = 0;
}

void receipt_finish(struct receipt_count *count, const struct model *last, struct model_receipt *receipt)
{
	take_sums(&count->sums, receipt);
	gap_launches_count(&count->gaps, &count->limits, last, receipt);
	cut_launches_count(&count->cuts, last, receipt);
	sum_lost(receipt);
}

void receipt_count_free(struct receipt_count *count)
{
	array_free(&count->gaps.sums);
	array_free(&count->cuts.processes);
}

/* ---- of the recording -------------------------------------------------------------------------------------------- */

static void add_agent(struct model_receipt *receipt, const struct model_agent_losses *losses)
{
#define ADD(member, ...) add_saturated(&receipt->member, losses->member);
	GPT_AGENT_LOSSES(ADD);
	GPT_AGENT_NOTES(ADD);
	GPT_AGENT_COSTS(ADD);
#undef ADD
}

void receipt_add_losses(const struct builder *builder, struct model *model)
{
	struct model_receipt *receipt = &model_source(model)->receipt;

	receipt->ranges_lost = builder->ranges.lost;
	receipt->ops_lost = ops_lost(&known_facts(builder)->ops);
	receipt->op_inputs_lost = op_inputs_lost(&known_facts(builder)->ops);
	receipt->torch_memory_lost = torch_memory_lost(&known_facts(builder)->torch_memory);
	receipt->late_steps = known_facts(builder)->late_steps;
	receipt->steps_lost = known_facts(builder)->steps_lost;
	receipt->python_unpaired = builder->pyevents.lost + builder->functions.lost;
	receipt->clock_error_ns = builder->clock.error_ns;
	receipt->clock_steps = wall_clock_steps(&builder->clock);
	receipt->truncated = builder->torn || !builder->ended;
	add_agent(receipt, &builder->agents.past);
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct model_agent_losses losses = agents_losses_of(&model->processes[i]);

		add_agent(receipt, &losses);
	}
}

void decide_gpu_times(struct model *model, bool any_corr)
{
	bool agent = any_corr;

	for (uint32_t i = 0; i < model->process_count && !agent; i++)
		agent = model->processes[i].agent_ready_ns != 0;
	if (model->gpu_times == MODEL_GPU_TIMES_UNKNOWN)
		model->gpu_times = agent ? MODEL_GPU_TIMES_MEANT : MODEL_GPU_TIMES_OFF;
}

static bool has_corr(const struct model *model)
{
	bool any = false;

	for (uint32_t i = 0; i < model->call_count && !any; i++)
		any = model->calls[i].corr != 0;
	return any;
}

void receipt_fill(struct builder *builder)
{
	struct model *model = builder->model;
	struct receipt_count count = {0};

	receipt_add_losses(builder, model);
	decide_gpu_times(model, has_corr(model));
	receipt_add_part(&count, model);
	receipt_finish(&count, model, &model_source(model)->receipt);
	receipt_count_free(&count);
}
