/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/layers/layer_tree.h"

#include <stdlib.h>

#include "base/order.h"
#include "model/model.h"

static void add_node(struct layer_tree *tree, uint32_t row)
{
	array_push(&tree->nodes, ((struct layer_node){.row = row, .children = NONE, .next = NONE}));
}

static uint32_t child_of(struct layer_tree *tree, uint32_t parent, uint32_t row)
{
	uint32_t node = tally_number(&tree->paths, (struct tally_key){{parent, row}}) + 1;

	if (node == tree->nodes.count)
		add_node(tree, row);
	return node;
}

uint32_t layer_tree_add(struct layer_tree *tree, const uint32_t *rows, size_t count, const struct layer_amount *amount)
{
	uint32_t node = 0;

	if (!tree->nodes.count)
		add_node(tree, NONE);
	for (size_t i = 0; i < count; i++)
		node = child_of(tree, node, rows[i]);
	layer_amount_add(&tree->nodes.items[node].self, amount);
	return node;
}

struct placed {
	const struct layer_node *node;
	uint32_t index;
};

DEFINE_ORDER(least_time_first, struct placed,
	     least_first(a->node->total.ns, b->node->total.ns)
		     ?: least_first(a->node->total.idle_ns, b->node->total.idle_ns) ?: most_first(a->index, b->index))

/* A node comes after its parent. */
static void sum_up(struct layer_tree *tree)
{
	struct layer_node *nodes = tree->nodes.items;

	for (size_t i = tree->nodes.count; i-- > 0;) {
		layer_amount_add(&nodes[i].total, &nodes[i].self);
		if (i)
			layer_amount_add(&nodes[layer_tree_parent(tree, (uint32_t)i)].total, &nodes[i].total);
	}
}

void layer_tree_finish(struct layer_tree *tree, const uint32_t *row_of)
{
	struct layer_node *nodes = tree->nodes.items;
	AUTO_FREE struct placed *sorted = xcalloc(tree->nodes.count + 1, sizeof(*sorted));

	sum_up(tree);
	for (size_t i = 0; i < tree->nodes.count; i++)
		sorted[i] = (struct placed){&nodes[i], (uint32_t)i};
	qsort(sorted, tree->nodes.count, sizeof(*sorted), least_time_first);
	for (size_t i = 0; i < tree->nodes.count; i++) {
		uint32_t index = sorted[i].index;
		struct layer_node *parent;

		if (!index)
			continue;
		parent = &nodes[layer_tree_parent(tree, index)];
		nodes[index].row = row_of[nodes[index].row];
		nodes[index].next = parent->children;
		parent->children = index;
	}
}

void layer_tree_free(struct layer_tree *tree)
{
	tally_free(&tree->paths);
	array_free(&tree->nodes);
}
