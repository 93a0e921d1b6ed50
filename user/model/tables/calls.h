/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA calls: one model_call per call the program made, whichever probes saw it, with what is collected later
 * about its return.
 */
#ifndef GPUTRACE_CALLS_H
#define GPUTRACE_CALLS_H

#include "model/tables/corr_index.h"
#include "model/events.h"
#include "model/model.h"
#include "model/tables/process_table.h"
#include "model/tables/stacks.h"

/* A return that came before its call. */
struct early_return {
	struct new_return back;
	uint32_t epoch;
};

struct calls {
	struct process_table *processes;
	struct stacks *stacks;
	ARRAY(struct model_call) list;
	ARRAY(struct model_args) args;
	ARRAY(struct early_return) early_returns;
	struct corr_index by_corr; /* to the call's number as they came */
	uint32_t *places;	   /* by that number: where the call is in the sorted list; NULL: at its number */
	/* Of pass 2: */
	uint32_t settled;     /* list[0 .. settled) were in earlier parts */
	uint64_t handed_over; /* how many those had */
};

void calls_init(struct calls *calls, struct process_table *processes, struct stacks *stacks, uint64_t seed);
void calls_free(struct calls *calls); /* all but list and args, which are the model's */

void calls_add(struct calls *calls, const struct new_call *call);

/* Instead, in pass 1: who made it and when, but not the call itself. */
void calls_count(struct calls *calls, uint32_t thread, uint64_t time_ns);

/* False when it does not make sense. */
bool calls_add_return(struct calls *calls, uint32_t epoch, const struct new_return *back);

/* The number of the call with a correlation id, NONE; an index of the list until calls_sort. */
uint32_t calls_find(struct calls *calls, uint32_t epoch, uint32_t corr);

/* Gives the call another correlation id; false when another call has it. */
bool calls_name(struct calls *calls, uint32_t epoch, uint32_t corr, uint32_t call);

/* After the last call, or so far: returns that came before their calls. */
void calls_finish(struct calls *calls);

/* Then, once every call has its correlation id: puts the calls from `settled` on in order of time, and numbers them. */
void calls_sort(struct calls *calls);

/* The calls are at other places now (NONE: gone); what names them by number follows. */
void calls_move(struct calls *calls, const uint32_t *places);

/* Where a call with a correlation id is in the sorted list, NONE; and one whose number is known. */
uint32_t calls_place(struct calls *calls, uint32_t epoch, uint32_t corr);
static inline uint32_t calls_place_of(const struct calls *calls, uint32_t number)
{
	return number != NONE && calls->places ? calls->places[number] : number;
}

/* When it was made; 0 for NONE. */
uint64_t calls_start(const struct calls *calls, uint32_t place);

#endif
