/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was seen, lost and joined.  Counts over the finished tables; changes none of them. */
#include "trace/builder.h"

static bool is_launch(const struct model_call *call)
{
	return call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH;
}

/* With a correlation id, which an agent gives from READY on; or while it had CUPTI's own records of calls. */
bool launch_is_expected(const struct model *model, const struct model_call *call)
{
	const struct model_process *process = &model->processes[model->threads[call->thread].process];

	return call->corr || (process->borrowed_ns && call->start_ns >= process->borrowed_ns &&
			      call->start_ns <= process->borrowed_end_ns);
}

static void count_calls(struct model_receipt *receipt, const struct model *model)
{
	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		bool with_stack = call->stack != NONE;

		receipt->calls++;
		receipt->calls_with_stack += with_stack;
		if (!is_launch(call))
			continue;
		if (call->end_ns && call->result) {
			receipt->launches_failed++;
			continue;
		}
		receipt->launches++;
		receipt->launches_with_stack += with_stack;
		if (call->captured) {
			receipt->launches_captured++;
			continue;
		}
		if (launch_is_expected(model, call)) {
			receipt->launches_expected++;
			receipt->launches_joined += call->gpu_count > 0;
		}
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
		uint32_t home = gpu_home(model, op);

		receipt->gpu_ops_joined += op->call != NONE;
		receipt->gpu_ops_ridden += op->ridden;
		if (!op->end_ns) {
			receipt->gpu_ops_untimed++;
			continue;
		}
		add_saturated(&receipt->gpu_ns, op->end_ns - op->start_ns);
		if (op->graph)
			add_saturated(&receipt->graph_ns, op->end_ns - op->start_ns);
		if (op->graph && home != op->call)
			add_saturated(&receipt->graph_ns_captured, op->end_ns - op->start_ns);
		if (home != NONE && has_line(model, &model->calls[home]))
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

static void add_agent(struct model_receipt *receipt, const struct gpt_agent_stats *stats)
{
	add_saturated(&receipt->cupti_dropped, stats->cupti_dropped);
	add_saturated(&receipt->buffers_refused, stats->buffers_refused);
	add_saturated(&receipt->api_dropped, stats->api_dropped);
	add_saturated(&receipt->names_dropped, stats->names_dropped);
	add_saturated(&receipt->malformed, stats->malformed);
}

static void sum_lost(struct model_receipt *receipt)
{
	const uint64_t causes[] = {
		receipt->accounts[GPT_ACC_CALLS_LOST],
		receipt->accounts[GPT_ACC_STACKS_LOST],
		receipt->accounts[GPT_ACC_CODE_LOST],
		receipt->accounts[GPT_ACC_BATCHES_LOST],
		receipt->accounts[GPT_ACC_OTHER_LOST],
		receipt->accounts[GPT_ACC_THREADS_FULL],
		receipt->accounts[GPT_ACC_PYEVENT_LOST],
		receipt->accounts[GPT_ACC_PYCALLS_LOST],
		receipt->cupti_dropped,
		receipt->buffers_refused,
		receipt->api_dropped,
		receipt->names_dropped,
		receipt->malformed,
		receipt->ranges_lost,
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		add_saturated(&receipt->lost, causes[i]);
}

void receipt_fill(struct builder *builder)
{
	struct model *model = builder->model;
	struct model_receipt *receipt = &model->receipt;

	receipt->bad_records += builder->agents.bad_records;
	receipt->ranges_lost = builder->agents.ranges.lost;
	receipt->python_unpaired = builder->python_spans.unpaired;
	receipt->clock_error_ns = builder->clock.error_ns;
	receipt->clock_steps = wall_clock_steps(&builder->clock);
	receipt->truncated = builder->reader.torn || !builder->ended;
	count_calls(receipt, model);
	count_gpu(receipt, model);
	gaps_count(&builder->gaps, model);
	add_agent(receipt, &builder->agents.past);
	for (uint32_t i = 0; i < model->process_count; i++)
		add_agent(receipt, &model->processes[i].agent_stats);
	sum_lost(receipt);
}

double model_completeness(const struct model *model)
{
	const struct model_receipt *receipt = &model->receipt;
	uint64_t lost = receipt->accounts[GPT_ACC_CALLS_LOST];
	bool agent = receipt->launches_expected > 0;
	double expected, got;

	for (uint32_t i = 0; i < model->process_count && !agent; i++)
		agent = model->processes[i].agent_ready_ns != 0;
	expected = (double)(agent ? receipt->launches_expected : receipt->calls) + (double)lost;
	got = (double)(agent ? receipt->launches_joined : receipt->calls);
	return expected > 0 ? 100 * got / expected : 100;
}
