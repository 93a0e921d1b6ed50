/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Own time of ops of PyTorch by Python stack (op_tree.h): of each op whole microseconds, as torch.profiler sums. */
#pragma once

#include "analyze/tree/op_tree.h"
#include "base/tally.h"

struct op_stacks {
	struct op_tree tree;
	struct tally sums; /* model.stacks, process; ns, more: microseconds on the CPU, on GPUs */
};

/* Must not move while in use. */
void op_stacks_init(struct op_stacks *stacks, const struct model *first);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_OP_STACKS(X)                                                                                          \
	X(OP_STACKS, begin, op_stacks_init(&all->op_stacks, event->first))                                             \
	X(OP_STACKS, part, op_tree_begin_part(&all->op_stacks.tree, event->part))                                      \
	X(OP_STACKS, call, op_tree_add_call(&all->op_stacks.tree, event))                                              \
	X(OP_STACKS, op, op_tree_add_op(&all->op_stacks.tree, event))                                                  \
	X(OP_STACKS, finish, op_tree_finish(&all->op_stacks.tree))                                                     \
	X(OP_STACKS, free, (op_tree_free(&all->op_stacks.tree), tally_free(&all->op_stacks.sums)))
