/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the ops of a part from the pending ones. */
#pragma once

#include "model/tables/ops.h"

/*
 * Makes the list, by thread and start: earlier ops that are still open, then ops that start before until_ns, numbered
 * in order of start.  The others stay pending.  Sets each thread's range of ops; known: as for ops_join.
 */
void op_order_take(struct ops *ops, const struct ops *known, struct model_thread *threads, size_t thread_count,
		   uint64_t until_ns);

/* Sets the node's forward, and `below` where that is another number's. */
void op_find_forward(struct ops *ops, uint32_t epoch, struct model_op *node);
