/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The observer of PyTorch's ops: PyTorch calls it at the start and end of each op, on the application's threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/torch/op_buffer.h"
#include "agent/torch/torch.h"

struct observed {
	bool with_inputs; /* of ops */
	bool only_named;  /* only ops that the program names */
};

/*
 * Registers the observer and starts session `session` (not 0); not on a thread of the application.  False: *why says
 * why.  Ops that start from now until observer_end go to the op buffers; with `scheduled`, those of recorded steps.
 */
bool observer_begin(const struct torch *torch, uint32_t session, struct observed observed, bool scheduled, char *why,
		    size_t why_size);

/* Ops that start during the change (microseconds) are not observed. */
void observer_change(struct observed observed);

/* The schedule or another gputrace has changed what rests. */
void observer_follow_schedule(void);

/* Nothing more goes to the op buffers.  Open ops go on; their ends are not recorded. */
void observer_end(void);

/* Threads write all names again: the reader has forgotten some. */
void observer_repeat_names(void);

/* If the op in that slot is open and belongs to this session: its turn, and *facts; else 0. */
uint64_t observer_open_op(struct op_slot *slot, uint32_t session, struct op_facts *facts);

/* In the child of a fork: observes nothing; the first op there removes the observer. */
void observer_forked(void);
