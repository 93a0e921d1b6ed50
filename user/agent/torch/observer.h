/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The observer of PyTorch's ops: what PyTorch calls at the begin and the end of each, on the application's threads. */
#ifndef GPUTRACE_AGENT_OBSERVER_H
#define GPUTRACE_AGENT_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/op_buffer.h"
#include "agent/torch/torch.h"

/*
 * Registers it and begins session `session` (not 0); not on a thread of the application.  False: why.  From then on ops
 * that begin stand in the buffers until observer_end; where they are scheduled, those of steps that are recorded.
 */
bool observer_begin(const struct torch *torch, uint32_t session, bool with_inputs, bool scheduled, char *why,
		    size_t why_size);

/* From now on inputs are taken, or are not. What begins in between, which takes microseconds, is not observed. */
void observer_take_inputs(bool wanted);

/* The schedule, or who else listens, has changed what rests. */
void observer_follow_schedule(void);

/* Nothing more is put into the buffers; ops that are open go on, and their ends are not told. */
void observer_end(void);

/* Threads tell all names again: the reader has forgotten some. */
void observer_repeat_names(void);

/* If the op in that place is open and of this session: its turn there, and what is known of it; else 0. */
uint64_t observer_open_op(struct op_slot *slot, uint32_t session, struct op_facts *facts);

/* In the child of a fork: it observes nothing, and its first op has the observer taken away. */
void observer_forked(void);

#endif
