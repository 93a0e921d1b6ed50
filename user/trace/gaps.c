/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A gap lasts from the other's registration of its buffers to the agent's next one; see gaps.h. */
#include "trace/gaps.h"

#include <string.h>

/*
 * Records of work that was on its way to us when another registered go to that one, too.  The agent takes what is
 * complete every 100 ms (user/agent/session.c).
 */
#define ON_ITS_WAY_NS 100000000

void gaps_init(struct gaps *gaps, struct process_table *processes)
{
	memset(gaps, 0, sizeof(*gaps));
	gaps->processes = processes;
}

void gaps_free(struct gaps *gaps)
{
	array_free(&gaps->list);
}

/* The one that has not ended yet; a process has one at most. */
static struct gap *open_gap(struct gaps *gaps, uint32_t process)
{
	for (size_t i = gaps->list.count; i-- > 0;)
		if (gaps->list.items[i].process == process)
			return gaps->list.items[i].end_ns ? NULL : &gaps->list.items[i];
	return NULL;
}

bool gaps_add_use(struct gaps *gaps, const struct gpt_record *record)
{
	const struct gpt_cupti_use *use = (const struct gpt_cupti_use *)record;
	struct gap gap = {.start_ns = use->time_ns};
	struct gap *open;

	if (use->what != GPT_CUPTI_REGISTER)
		return true;
	gap.process = process_table_find(gaps->processes, use->pid);
	open = open_gap(gaps, gap.process);
	if (!use->own && !open)
		array_push(&gaps->list, gap);
	else if (use->own && open)
		open->end_ns = use->time_ns > open->start_ns ? use->time_ns : open->start_ns + 1;
	return true;
}

void gaps_process_execs(struct gaps *gaps, uint32_t pid, uint64_t time_ns)
{
	struct gap *open = open_gap(gaps, process_table_find(gaps->processes, pid));

	if (open)
		open->end_ns = time_ns > open->start_ns ? time_ns : open->start_ns + 1;
}

static bool within(const struct gap *gap, uint64_t time_ns)
{
	return time_ns + ON_ITS_WAY_NS >= gap->start_ns && (!gap->end_ns || time_ns <= gap->end_ns);
}

static bool explained(const struct gaps *gaps, uint32_t process, uint64_t time_ns)
{
	for (size_t i = 0; i < gaps->list.count; i++)
		if (gaps->list.items[i].process == process && within(&gaps->list.items[i], time_ns))
			return true;
	return false;
}

static bool is_missed(const struct model_call *call)
{
	return call->corr && !call->captured && !call->gpu_count && !(call->end_ns && call->result) &&
	       (call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH);
}

void gaps_count(const struct gaps *gaps, struct model *model)
{
	for (size_t i = 0; i < gaps->list.count; i++) {
		const struct gap *gap = &gaps->list.items[i];
		const struct model_process *process = &model->processes[gap->process];
		uint64_t end_ns = gap->end_ns ? gap->end_ns : process->exit_ns ? process->exit_ns : model->end_ns;

		/* Where no agent listened, nothing was taken away from it. */
		if (!process->agent_ready_ns)
			continue;
		model->receipt.gaps++;
		if (end_ns > gap->start_ns)
			model->receipt.gap_ns += end_ns - gap->start_ns;
	}
	for (uint32_t i = 0; model->receipt.gaps && i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (is_missed(call) && explained(gaps, model->threads[call->thread].process, call->start_ns))
			model->receipt.gap_launches++;
	}
}
