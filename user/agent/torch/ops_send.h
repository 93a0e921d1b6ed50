/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What threads have put into their buffers, as records for the collector.  For the thread of ops alone: a sender is its
 * own, and so are the buffers' heads and the names.
 */
#ifndef GPUTRACE_AGENT_OPS_SEND_H
#define GPUTRACE_AGENT_OPS_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/torch/torch.h"
#include "cupti/batch.h"

struct ops_sender {
	struct batch batch;
	const struct op_input_types *types; /* of the PyTorch whose inputs come; has to stay */
	uint64_t told;			    /* ops */
	uint64_t inputs_lost;		    /* inputs of ops that had no number when the op came */
	bool looked_ahead;		    /* in this round */
};

/* All that is in buffers now.  Returns how much was in the fullest, in bytes. */
uint64_t ops_send_buffers(struct ops_sender *sender);

/* Ops that are open and began before then, of that session of the observer; `again`: also those that were told. */
void ops_send_open(struct ops_sender *sender, uint32_t session, uint64_t before_ns, bool again);

#endif
