/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python stacks that were sampled at the agent's request for events that it reports itself: PyTorch's ops and memory
 * events.  The stack comes first, through the ring buffer; its event comes in a batch, when it is over, and refers to
 * the stack by the agent's number.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"

/* A stack is sampled just before its op begins, unless the thread is preempted; older stacks belong to no event. */
#define SAMPLED_STACK_AGE_NS 1000000000u

struct sampled_stack {
	uint64_t time_ns;
	uint32_t stack; /* model.stacks, NONE: the thread had none */
};

struct sampled_stacks {
	ARRAY(struct sampled_stack) list;
	struct lookup by_number[GPT_STACK_OF_MEMORY + 1]; /* by `what`: (epoch, number) to list */
};

void sampled_stacks_free(struct sampled_stacks *sampled);
void sampled_stacks_add(struct sampled_stacks *sampled, uint32_t epoch, const struct gpt_stack_at *from,
			uint32_t stack);

/* The stack of an event that began at time_ns; NONE: there is none.  number 0: none was sampled. */
uint32_t sampled_stacks_find(const struct sampled_stacks *sampled, uint32_t epoch, enum gpt_stack_of what,
			     uint64_t number, uint64_t time_ns);

/* Evicts stacks: all events that began before until_ns already have theirs. */
void sampled_stacks_evict(struct sampled_stacks *sampled, uint64_t until_ns);
