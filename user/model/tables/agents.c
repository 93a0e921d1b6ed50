/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* States and losses of agents; see agents.h. */
#include "model/tables/agents.h"

#include <string.h>

static void set_version(uint32_t *version, uint32_t reported)
{
	if (reported)
		*version = reported;
}

void agents_add_state(struct agents *agents, uint32_t process_index, const struct new_agent_state *event)
{
	struct model_process *process = &agents->processes->list.items[process_index];
	bool listens = gpt_agent_is_live(event->state);

	if (listens && (process->agent_state == GPT_AGENT_STOPPED || process->agent_state == GPT_AGENT_FAILED))
		memset(&process->agent_losses_before, 0, sizeof(process->agent_losses_before)); /* another session */
	process->agent_state = event->state;
	process->agent_failure = event->failure;
	if (event->state == GPT_AGENT_BORROWING && !process->borrowed_ns)
		process->borrowed_ns = event->time_ns;
	if (process->borrowed_ns)
		agents->processes->states.items[process_index].borrow_stopped_ns =
			event->state == GPT_AGENT_BORROWING ? 0 : event->time_ns;
	set_version(&process->cupti_version, event->cupti_version);
	set_version(&process->driver_version, event->driver_version);
	set_version(&process->runtime_version, event->runtime_version);
	if (event->cupti_path.size)
		process->cupti_path = string_keep(agents->strings, event->cupti_path.bytes, event->cupti_path.size);
	process->agent_detail = string_keep(agents->strings, event->detail.bytes, event->detail.size);
	if (listens && !process->agent_ready_ns) {
		process->agent_ready_ns = event->time_ns;
		process->agent_idle = event->has_activity_sets && !event->activity_sets.size;
	}
	if (listens && (event->activity_sets.size || !event->has_activity_sets))
		process->agent_activity_sets =
			string_keep(agents->strings, event->activity_sets.bytes, event->activity_sets.size);
}

void agents_add_past(struct agents *agents, const struct model_agent_losses *losses)
{
#define ADD(member, ...)                                                                                               \
	if (__builtin_add_overflow(agents->past.member, losses->member, &agents->past.member))                         \
		agents->past.member = UINT64_MAX;
	GPT_AGENT_LOSSES(ADD);
	GPT_AGENT_NOTES(ADD);
	GPT_AGENT_COSTS(ADD);
#undef ADD
}

void agents_set_losses(struct agents *agents, uint32_t process_index, const struct model_agent_losses *losses)
{
	struct model_process *process = &agents->processes->list.items[process_index];

	if (!process->agent_state)
		process->agent_losses_before = *losses;
	process->agent_losses = *losses;
}

struct model_agent_losses agents_losses_of(const struct model_process *process)
{
	struct model_agent_losses losses = process->agent_losses;

	if (!process->agent_state)
		return losses; /* no HELLO shows that these are of before */
#define SUBTRACT(member, ...)                                                                                          \
	losses.member -= process->agent_losses_before.member < losses.member ? process->agent_losses_before.member     \
									     : losses.member;
	GPT_AGENT_LOSSES(SUBTRACT);
	GPT_AGENT_COSTS(SUBTRACT);
#undef SUBTRACT
	return losses;
}

void agents_process_execs(struct agents *agents, uint32_t process_index)
{
	struct model_process *process = &agents->processes->list.items[process_index];
	struct model_agent_losses losses = agents_losses_of(process);

	agents_add_past(agents, &losses);
	memset(&process->agent_losses, 0, sizeof(process->agent_losses));
	memset(&process->agent_losses_before, 0, sizeof(process->agent_losses_before));
}
