/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was seen, lost and joined.  Counts over the finished tables; changes none of them. */
#include "model/tables.h"

/* Where the log does not say whether GPU times were asked for, they were if an agent recorded anywhere. */
static void decide_gpu_times(struct model *model)
{
	bool agent = false;

	for (uint32_t i = 0; i < model->process_count && !agent; i++)
		agent = model->processes[i].agent_ready_ns != 0;
	for (uint32_t i = 0; i < model->call_count && !agent; i++)
		agent = model->calls[i].corr != 0;
	if (model->gpu_times == MODEL_GPU_TIMES_UNKNOWN)
		model->gpu_times = agent ? MODEL_GPU_TIMES_MEANT : MODEL_GPU_TIMES_OFF;
}

static bool is_transfer(const struct model_call *call)
{
	return call->class == GPT_CLASS_MEMCPY || call->class == GPT_CLASS_MEMSET;
}

static void count_launch(struct model_receipt *receipt, const struct model_call *call, enum launch_fate fate)
{
	bool expected = fate >= LAUNCH_WHOLE && fate <= LAUNCH_MISSED;

	receipt->launches += fate > LAUNCH_FAILED;
	receipt->launches_failed += fate == LAUNCH_FAILED;
	receipt->launches_with_stack += fate > LAUNCH_FAILED && call->stack != NONE;
	receipt->launches_captured += fate == LAUNCH_CAPTURED;
	receipt->launches_expected += expected;
	receipt->launches_joined += expected && fate != LAUNCH_MISSED;
	receipt->launches_whole += fate == LAUNCH_WHOLE;
	receipt->launches_short += fate == LAUNCH_SHORT;
	receipt->launches_agent_away += fate == LAUNCH_AWAY;
	receipt->launches_no_agent += fate == LAUNCH_ALONE;
}

static void count_calls(struct model_receipt *receipt, const struct model *model)
{
	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		enum launch_fate fate = launch_fate(model, call);
		bool did_nothing = call->captured || (call->end_ns && call->result);

		receipt->calls++;
		receipt->calls_with_stack += call->stack != NONE;
		receipt->stacks_missing += call->stack_state == GPT_STACK_LOST;
		receipt->operations_missing += call->nodes_missing;
		receipt->operations_missing +=
			fate == LAUNCH_MISSED || (is_transfer(call) && call->corr && !call->gpu_count && !did_nothing);
		count_launch(receipt, call, fate);
	}
}

/* Whether GPU time of this call can be put on a Python line: that of its innermost frame. */
static bool has_line(const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack;

	if (call->stack == NONE)
		return false;
	stack = &model->stacks[call->stack];
	return model->frames[model->stack_frames[stack->first]].line != 0;
}

static void add_saturated(uint64_t *sum, uint64_t value)
{
	*sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

static void count_gpu(struct model_receipt *receipt, const struct model *model)
{
	receipt->gpu_ops = model->gpu_count;
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		const struct model_call *call = op->call != NONE ? &model->calls[op->call] : NULL;
		uint32_t attributed = gpu_attributed_call(model, op);

		receipt->gpu_ops_joined += op->call != NONE;
		receipt->gpu_ops_foreign += op->foreign;
		receipt->gpu_ops_before += op->before;
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
		if (!call)
			continue;
		if (call->start_ns > op->start_ns && call->start_ns - op->start_ns > receipt->clock_error_ns) {
			receipt->early++;
			if (call->start_ns - op->start_ns > receipt->early_max_ns)
				receipt->early_max_ns = call->start_ns - op->start_ns;
		}
	}
}

static void add_agent(struct model_receipt *receipt, const struct model_agent_losses *losses)
{
#define ADD(member, name, kind, words) add_saturated(&receipt->member, losses->member);
	GPT_AGENT_LOSSES(ADD);
#undef ADD
}

static void sum_lost(struct model_receipt *receipt)
{
	struct model_loss losses[MODEL_LOSSES];

	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		add_saturated(&receipt->lost, losses[i].count);
}

void receipt_fill(struct builder *builder)
{
	struct model *model = builder->model;
	struct model_receipt *receipt = &model_source(model)->receipt;

	receipt->ranges_lost = builder->ranges.lost;
	receipt->python_unpaired = builder->pyevents.lost + builder->functions.lost;
	receipt->clock_error_ns = builder->clock.error_ns;
	receipt->clock_steps = wall_clock_steps(&builder->clock);
	receipt->truncated = builder->torn || !builder->ended;
	decide_gpu_times(model);
	count_calls(receipt, model);
	count_gpu(receipt, model);
	gaps_count(&builder->gaps, model);
	add_agent(receipt, &builder->agents.past);
	for (uint32_t i = 0; i < model->process_count; i++)
		add_agent(receipt, &model->processes[i].agent_losses);
	sum_lost(receipt);
}
