/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls: one model_call per call of the program, whichever probes saw it, completed later by its return. */
#pragma once

#include "model/tables/corr_index.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "model/tables/process_table.h"
#include "model/tables/stacks.h"

/* A return that came before its call. */
struct early_return {
	struct gpt_agent_api back;
	uint32_t epoch;
};

struct calls {
	struct string_pool *strings;
	struct process_table *processes;
	struct stacks *stacks;
	ARRAY(struct model_call) list;
	ARRAY(struct model_args) args;
	ARRAY(struct early_return) early_returns;
	struct corr_index by_corr; /* to the call's number in order of arrival */
	uint32_t *places;	   /* by that number: the call's index in the sorted list; NULL: the number itself */
	/* Of pass 2: */
	uint32_t complete;    /* list[0 .. complete) were in earlier parts */
	uint64_t handed_over; /* number of calls in earlier parts */
};

void calls_free(struct calls *calls); /* all but list and args, which are the model's */

void calls_add(struct calls *calls, const struct gpt_call *call, struct new_enclosing *enclosing);

/* Pass 1, instead of calls_add: notes the thread and the time, but does not keep the call. */
void calls_count(struct calls *calls, uint32_t thread, uint64_t time_ns);

/* False: it does not make sense. */
bool calls_add_return(struct calls *calls, uint32_t epoch, const struct gpt_agent_api *back);

/* The number of the call with a correlation id, NONE; an index of the list until calls_sort. */
uint32_t calls_find(struct calls *calls, uint32_t epoch, uint32_t corr);

/* Gives the call another correlation id; false when another call has it. */
bool calls_name(struct calls *calls, uint32_t epoch, uint32_t corr, uint32_t call);

/* After the last call, or the last so far: applies returns that came before their calls. */
void calls_finish(struct calls *calls);

/* Then, once every call has its correlation id: sorts the calls from `complete` on by time, and numbers them. */
void calls_sort(struct calls *calls);

/* The calls have moved to places[] (NONE: evicted); updates references by number. */
void calls_move(struct calls *calls, const uint32_t *places);

/* Index in the sorted list of the call with a correlation id, NONE; and of the call with a number. */
uint32_t calls_place(struct calls *calls, uint32_t epoch, uint32_t corr);
static inline uint32_t calls_place_of(const struct calls *calls, uint32_t number)
{
	return number != NONE && calls->places ? calls->places[number] : number;
}

/* The start time of a call; 0 for NONE. */
uint64_t calls_start(const struct calls *calls, uint32_t place);
