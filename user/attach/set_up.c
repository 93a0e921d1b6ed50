/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether everything is in place before the recording begins, so that nothing of it is done while it runs. */
#include "attach/attach.h"

#include "attach/attach_state.h"

/* How long agents may take; each one that comes in, or begins, gives the others that time again, up to the most. */
#define AGENTS_NS 1000000000ULL
#define MOST_NS 10000000000ULL

struct agents_count {
	unsigned awaited, entering;
	unsigned steps; /* grows with each agent that comes in, and with each that begins */
};

static bool has_begun(const struct followed *process)
{
	return process->agent_live || process->agent_stopped || process->ops_heard;
}

/* The agent has been asked to observe PyTorch's ops, and has not said yet whether it does. */
static bool waits_for_ops(const struct attach *attach, const struct followed *process)
{
	return attach->options.ops && process->entry.asked_for_ops && process->entry.state == ENTRY_ASKED &&
	       !process->ops_heard;
}

static struct agents_count count_agents(struct attach *attach)
{
	struct agents_count count = {.awaited = attach->agents_pending};

	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];

		if (processes_update_agent(&attach->processes, process))
			attach->reconcile = !attach->shares;
		count.steps += has_begun(process) + (process->entry.state == ENTRY_ASKED);
		count.entering += process->entry.state == ENTRY_ENTERING;
		count.awaited += waits_for_ops(attach, process);
	}
	return count;
}

bool attach_is_set_up(struct attach *attach, uint64_t now_ns)
{
	struct agents_count count = count_agents(attach);

	if (count.steps > attach->agents_steps)
		attach->agents_step_ns = now_ns;
	attach->agents_steps = count.steps;
	if (now_ns - attach->set_up_ns >= MOST_NS)
		return true;
	if (count.entering || (count.awaited && now_ns - attach->agents_step_ns < AGENTS_NS))
		return false;
	return !attach->reconcile;
}

unsigned attach_unready(struct attach *attach)
{
	unsigned awaited = count_agents(attach).awaited, all = (unsigned)attach->processes.list.count;

	return awaited < all ? awaited : all;
}
