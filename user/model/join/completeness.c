/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What became of each launch, and how complete a trace is: the only source for report, Chrome trace and exit status. */
#include "model/model.h"

/*
 * The call has a correlation id, which an agent gives from READY on; or the agent then received API activity records.
 */
static bool agent_recorded(const struct model_process *process, const struct model_call *call)
{
	return call->corr || (process->borrowed_ns && call->start_ns >= process->borrowed_ns &&
			      call->start_ns <= process->borrowed_end_ns);
}

enum launch_fate launch_fate(const struct model *model, const struct model_call *call)
{
	const struct model_process *process = &model->processes[model->threads[call->thread].process];

	if (call->class != GPT_CLASS_LAUNCH && call->class != GPT_CLASS_GRAPH)
		return LAUNCH_NONE;
	if (call->end_ns && call->result)
		return LAUNCH_FAILED;
	if (call->captured)
		return LAUNCH_CAPTURED;
	if (model->gpu_times == MODEL_GPU_TIMES_OFF)
		return LAUNCH_UNASKED;
	if (!agent_recorded(process, call))
		return process->agent_ready_ns ? LAUNCH_AWAY : LAUNCH_ALONE;
	if (!call->gpu_count)
		return LAUNCH_MISSED;
	if (call->nodes_missing)
		return LAUNCH_SHORT;
	if (!model->gpu[call->first_gpu].end_ns) /* untimed operations come first */
		return LAUNCH_UNTIMED;
	return call->stack_state == GPT_STACK_LOST || call->stack_state == GPT_STACK_LOWERED ? LAUNCH_STACKLESS
											     : LAUNCH_WHOLE;
}

uint64_t model_launches_meant(const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;

	return receipt->launches_expected + receipt->launches_agent_away + receipt->launches_no_agent;
}

static uint64_t lost_of_kind(const struct model_receipt *receipt, enum gpt_loss_kind kind)
{
	struct model_loss losses[MODEL_LOSSES];
	uint64_t sum = 0;

	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		if (losses[i].kind == kind && __builtin_add_overflow(sum, losses[i].count, &sum))
			return UINT64_MAX;
	return sum;
}

/* The losses beyond those already counted as missing from calls. */
static uint64_t count_beyond(uint64_t lost, uint64_t known)
{
	return lost > known ? lost - known : 0;
}

/* Whether nothing can be missing that is not counted as a launch. */
static bool all_is_known(const struct model_receipt *receipt)
{
	return !receipt->lost && !receipt->truncated && !receipt->bad_records && !receipt->gpu_ops_untimed &&
	       !receipt->stacks_lowered &&
	       receipt->gpu_ops_joined + receipt->gpu_ops_before + receipt->gpu_ops_migrated == receipt->gpu_ops;
}

uint32_t model_completeness(const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;
	bool meant = model->gpu_times == MODEL_GPU_TIMES_MEANT;
	/* wider than the counters, whose values come from logs */
	__extension__ unsigned __int128 seen, missing, made;
	uint64_t calls_lost = lost_of_kind(receipt, GPT_LOST_CALL);
	uint32_t complete;

	seen = meant ? model_launches_meant(model) : receipt->calls;
	made = seen + calls_lost;
	missing = meant ? seen - receipt->launches_whole : receipt->stacks_missing + receipt->stacks_lowered;
	missing += count_beyond(lost_of_kind(receipt, GPT_LOST_STACK), receipt->stacks_missing);
	if (meant)
		missing += count_beyond(lost_of_kind(receipt, GPT_LOST_GPU), receipt->operations_missing);
	if (missing > seen)
		missing = seen;
	complete = made ? (uint32_t)((seen - missing) * MODEL_COMPLETE / made) : MODEL_COMPLETE;
	return complete == MODEL_COMPLETE && (!all_is_known(receipt) || model_is_foreign(model)) ? MODEL_COMPLETE - 1
												 : complete;
}
