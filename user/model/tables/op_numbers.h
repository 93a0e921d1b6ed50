/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * "autograd::engine::evaluate_function: X" is the op around a node of autograd, and PyTorch numbers only the node: as
 * Kineto does, it gets the number, and the forward thread, of the first op inside of it.
 */
#ifndef GPUTRACE_MODEL_OP_NUMBERS_H
#define GPUTRACE_MODEL_OP_NUMBERS_H

#include "model/tables/ops.h"

/* Of the ops in order; the first op inside may be one that belongs to a later part, and still waits. */
void op_numbers_give(struct ops *ops, const struct ops *known);

#endif
