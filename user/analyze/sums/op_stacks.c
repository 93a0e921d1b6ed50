/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/op_stacks.h"

static void add_node(void *context, const struct op_node *node)
{
	struct op_stacks *stacks = context;
	const struct model *model = stacks->tree.model;
	struct tally_entry *sum;

	if (node->stack == NONE)
		return;
	sum = tally_at(&stacks->sums, (struct tally_key){{node->stack, model->threads[node->thread].process}});
	sum->ns += op_node_self_ns(node) / 1000;
	sum->more += node->gpu_self_ns / 1000;
}

void op_stacks_init(struct op_stacks *stacks, const struct model *first)
{
	*stacks = (struct op_stacks){0};
	op_tree_init(&stacks->tree, first, add_node, stacks);
}
