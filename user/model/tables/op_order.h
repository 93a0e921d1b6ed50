/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ops of a part, taken from those that are pending. */
#ifndef GPUTRACE_MODEL_OP_ORDER_H
#define GPUTRACE_MODEL_OP_ORDER_H

#include "model/tables/ops.h"

/*
 * Makes the list, by thread and begin: those of before that are still open and, after them, those that begin before
 * until_ns, numbered in the order in which they begin.  The others wait.  Threads learn where theirs are; known: as for
 * ops_join.
 */
void op_order_take(struct ops *ops, const struct ops *known, struct model_thread *threads, size_t thread_count,
		   uint64_t until_ns);

/*
 * "autograd::engine::evaluate_function: X" is the op around a node of autograd, and PyTorch numbers only the node: as
 * Kineto does, it gets the number, and the forward thread, of the first op inside of it.  Of the ops in order; the
 * first op inside may be one that belongs to a later part, and still waits.
 */
void op_numbers_give(struct ops *ops, const struct ops *known);

#endif
