/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Modules of PyTorch by who called whom: a node for each path of calls.  A node's parts sum up to its total. */
#pragma once

#include "base/array.h"
#include "base/tally.h"

struct layer_amount {
	uint64_t ns, launches;	/* GPU time, and what put it on the GPU */
	uint64_t backward_ns;	/* of ns: of backward nodes, under the layers of their forward ops */
	uint64_t recomputed_ns; /* of ns: of modules that a backward pass called: activation checkpointing */
	uint64_t idle_ns;	/* idle time of GPUs, by the line to blame */
	uint64_t memory_bytes;	/* of PyTorch on GPUs, each at its peak: what was handed out in the layer */
	uint64_t flops;		/* of ops whose shapes are recorded */
};

struct layer_node {
	uint32_t row;		 /* index in layers.rows; NONE: the root, which has all */
	uint32_t children, next; /* nodes, most GPU time first; NONE: none more */
	struct layer_amount self, total;
};

/* Starts zeroed. */
struct layer_tree {
	struct tally paths; /* parent, row; numbered like nodes, without the root */
	ARRAY(struct layer_node) nodes;
};

/* Adds an amount to the node of a path of rows, outermost first.  Returns the node. */
uint32_t layer_tree_add(struct layer_tree *tree, const uint32_t *rows, size_t count, const struct layer_amount *amount);

/* Sums up and sorts.  row_of: the final index of each row. */
void layer_tree_finish(struct layer_tree *tree, const uint32_t *row_of);
void layer_tree_free(struct layer_tree *tree);

/* Of a node that is not the root. */
static inline uint32_t layer_tree_parent(const struct layer_tree *tree, uint32_t node)
{
	return tree->paths.entries[node - 1].key.part[0];
}

static inline void layer_amount_add(struct layer_amount *sum, const struct layer_amount *amount)
{
	sum->ns += amount->ns;
	sum->launches += amount->launches;
	sum->backward_ns += amount->backward_ns;
	sum->recomputed_ns += amount->recomputed_ns;
	sum->idle_ns += amount->idle_ns;
	sum->memory_bytes += amount->memory_bytes;
	sum->flops += amount->flops;
}
