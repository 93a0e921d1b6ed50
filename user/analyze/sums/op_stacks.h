/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Own time of ops of PyTorch by their Python stack (op_tree.h): whole microseconds of each, as torch.profiler sums. */
#ifndef GPUTRACE_ANALYZE_OP_STACKS_H
#define GPUTRACE_ANALYZE_OP_STACKS_H

#include "analyze/tree/op_tree.h"
#include "base/tally.h"

struct op_stacks {
	struct op_tree tree;
	struct tally sums; /* model.stacks, process; ns and more: microseconds on the CPU and on GPUs */
};

/* Stays where it is while it is in use. */
void op_stacks_init(struct op_stacks *stacks, const struct model *first);
void op_stacks_free(struct op_stacks *stacks);

static inline void op_stacks_finish(struct op_stacks *stacks)
{
	op_tree_finish(&stacks->tree);
}

#endif
