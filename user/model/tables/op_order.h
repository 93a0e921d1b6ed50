/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the ops of a part from the pending ones. */
#ifndef GPUTRACE_MODEL_OP_ORDER_H
#define GPUTRACE_MODEL_OP_ORDER_H

#include "model/tables/ops.h"

/*
 * Makes the list, by thread and start: earlier ops that are still open, then ops that start before until_ns, numbered
 * in order of start.  The others stay pending.  Sets each thread's range of ops; known: as for ops_join.
 */
void op_order_take(struct ops *ops, const struct ops *known, struct model_thread *threads, size_t thread_count,
		   uint64_t until_ns);

/*
 * "autograd::engine::evaluate_function: X" is the op around an autograd node, but PyTorch numbers only the node.  As in
 * Kineto, this op gets the number and the forward thread of the first op inside it.  Works on the ordered ops; the
 * first op inside may belong to a later part and still be pending.
 */
void op_numbers_give(struct ops *ops, const struct ops *known);

#endif
