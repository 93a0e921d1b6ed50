/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What agents reported about themselves: whether they listened, to which CUPTI, since when, and their losses. */
#pragma once

#include "model/events.h"
#include "model/tables/process_table.h"
#include "model/string_pool.h"

struct agents {
	struct process_table *processes;
	struct string_pool *strings;
	struct model_agent_losses past; /* of agents ended by an exec, and of other profilers' buffers */
};

void agents_add_state(struct agents *agents, uint32_t process, const struct new_agent_state *state);
void agents_add_past(struct agents *agents, const struct model_agent_losses *losses);

/*
 * The counts of the agent's session so far. An agent that was at work before the trace came repeats them before its
 * first HELLO of this trace.
 */
void agents_set_losses(struct agents *agents, uint32_t process, const struct model_agent_losses *losses);

/* What the current agent has lost since the trace came to it. */
struct model_agent_losses agents_losses_of(const struct model_process *process);

/* The process is about to exec: its agent's counters start over. */
void agents_process_execs(struct agents *agents, uint32_t process);
