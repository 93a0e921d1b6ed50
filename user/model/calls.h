/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA calls: one model_call per call the program made, whichever probes saw it, with what is learnt later
 * about its return.
 */
#ifndef GPUTRACE_CALLS_H
#define GPUTRACE_CALLS_H

#include "model/lookup.h"
#include "model/model.h"
#include "model/process_table.h"
#include "model/stacks.h"

/* A return that came before its call. */
struct early_return {
	uint64_t end_ns;
	uint32_t space, corr;
	int32_t result;
	uint16_t api, flags; /* as gpt_agent_api */
};

struct calls {
	struct process_table *processes;
	struct stacks *stacks;
	ARRAY(struct model_call) list;
	ARRAY(struct model_args) args;
	ARRAY(struct early_return) early_returns;
	struct lookup by_corr; /* (space, correlation id) to call */
};

void calls_init(struct calls *calls, struct process_table *processes, struct stacks *stacks, uint64_t seed);
void calls_free(struct calls *calls); /* all but list and args, which are the model's */

/* Records: false when they do not make sense. */
bool calls_add(struct calls *calls, const struct gpt_record *record);
bool calls_add_return(struct calls *calls, uint32_t space, const struct gpt_agent_api *api);

/* The call with a correlation id, NONE. */
uint32_t calls_find(const struct calls *calls, uint32_t space, uint32_t corr);

/* Gives the call another correlation id; false when another call has it. */
bool calls_name(struct calls *calls, uint32_t space, uint32_t corr, uint32_t call);

/* After the last record: returns that came before their calls. */
void calls_finish(struct calls *calls);

#endif
