/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts launches whose GPU records ended with their process; see cut_launches.h. */
#include "model/join/cut_launches.h"

/* Its agent has not said that it stopped: it could not, unless the recording itself ends too early to know. */
static bool was_cut(const struct model_process *process)
{
	return gpt_agent_is_live(process->agent_state);
}

void cut_launches_add(struct cut_launches *launches, const struct model *part, const struct model_call *call,
		      enum launch_fate fate)
{
	bool missed = fate == LAUNCH_MISSED, recorded = fate >= LAUNCH_WHOLE && fate < LAUNCH_MISSED;
	uint32_t process = part->threads[call->thread].process;
	struct cut_process *cut;

	if ((!missed && !recorded) || !was_cut(&part->processes[process]))
		return;
	while (launches->processes.count < part->process_count)
		array_push(&launches->processes, ((struct cut_process){0}));
	cut = &launches->processes.items[process];
	if (recorded)
		*cut = (struct cut_process){0};
	else if (!cut->missed++)
		cut->first_ns = call->start_ns;
}

/* Whether another client of CUPTI had the process's records for a while. */
static bool has_gap(const struct model *model, uint32_t process)
{
	return any_of(model->gap_count, i, model->gaps[i].process == process);
}

void cut_launches_count(const struct cut_launches *launches, const struct model *last, struct model_receipt *receipt)
{
	receipt->cut_launches = receipt->cut_processes = receipt->cut_ns = 0;
	receipt->cut_alive = false;
	for (uint32_t i = 0; i < launches->processes.count; i++) {
		const struct cut_process *cut = &launches->processes.items[i];
		const struct model_process *process = &last->processes[i];

		if (!cut->missed || (!process->exit_ns && receipt->truncated) || has_gap(last, i))
			continue;
		receipt->cut_launches += cut->missed;
		/* the longest stands for all */
		if (!receipt->cut_processes++ || process->last_call_ns - cut->first_ns > receipt->cut_ns) {
			receipt->cut_ns = process->last_call_ns - cut->first_ns;
			receipt->cut_pid = process->pid;
			receipt->cut_signal = process->exit_signal;
			receipt->cut_alive = !process->exit_ns;
		}
	}
}
