/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends the contents of the op buffers to the collector as records.  On the thread of ops only: it owns the sender, the
 * buffers' heads and the names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/torch/torch.h"
#include "cupti/batch.h"

struct ops_sender {
	struct batch batch;
	const struct op_input_types *types; /* of the PyTorch that the inputs come from; must outlive the sender */
	uint64_t sent;			    /* ops */
	uint64_t inputs_lost;		    /* inputs of ops that had no number when the op came */
	bool looked_ahead;		    /* in this round */
};

/* Sends all that is in the buffers now.  Returns the bytes in the fullest one. */
uint64_t ops_send_buffers(struct ops_sender *sender);

/* Sends the ops of that session that are open and started before then; `again`: also those sent before. */
void ops_send_open(struct ops_sender *sender, uint32_t session, uint64_t before_ns, bool again);
