/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nodes of graphs and launches of them; see graphs.h. */
#include "model/graphs.h"

#include <string.h>

/*
 * A node that runs is a clone, made by instantiation, of one that was captured; or of a clone, where a graph is a
 * node of another.  A target could make a ring of them.
 */
#define CLONES_MAX 8

void graphs_init(struct graphs *graphs, uint64_t seed)
{
	memset(graphs, 0, sizeof(*graphs));
	lookup_init(&graphs->node_calls, seed);
	lookup_init(&graphs->node_clones, seed);
	lookup_init(&graphs->executables, seed);
	lookup_init(&graphs->nodes, seed);
	lookup_init(&graphs->launches, seed);
	lookup_init(&graphs->have, seed);
}

void graphs_free(struct graphs *graphs)
{
	lookup_free(&graphs->node_calls);
	lookup_free(&graphs->node_clones);
	array_free(&graphs->clone_sources);
	lookup_free(&graphs->executables);
	lookup_free(&graphs->nodes);
	lookup_free(&graphs->launches);
	lookup_free(&graphs->have);
	array_free(&graphs->node_counts);
	array_free(&graphs->list);
}

void graphs_add_node(struct graphs *graphs, uint32_t space, uint64_t node, uint32_t corr)
{
	*lookup_put(&graphs->node_calls, space, node, 0) = corr;
}

void graphs_add_clone(struct graphs *graphs, uint32_t space, uint64_t node, uint64_t source)
{
	*lookup_put(&graphs->node_clones, space, node, 0) = (uint32_t)graphs->clone_sources.count;
	array_push(&graphs->clone_sources, source);
}

uint32_t graphs_node_corr(const struct graphs *graphs, uint32_t space, uint64_t node)
{
	for (unsigned i = 0; i <= CLONES_MAX; i++) {
		const uint32_t *corr = lookup_get(&graphs->node_calls, space, node), *source;

		if (corr)
			return *corr;
		source = lookup_get(&graphs->node_clones, space, node);
		if (!source)
			return 0;
		node = graphs->clone_sources.items[*source];
	}
	return 0;
}

void graphs_add_operation(struct graphs *graphs, uint32_t space, uint32_t call, uint32_t graph, uint64_t graph_node)
{
	struct graph_launch launch = {.call = call};
	uint32_t node, index;
	size_t before;

	launch.graph = *lookup_put(&graphs->executables, space, graph, (uint32_t)graphs->node_counts.count);
	if (launch.graph == graphs->node_counts.count)
		array_push(&graphs->node_counts, 0);
	before = graphs->nodes.count;
	node = *lookup_put(&graphs->nodes, launch.graph + 1, graph_node, (uint32_t)before);
	graphs->node_counts.items[launch.graph] += graphs->nodes.count > before;
	index = *lookup_put(&graphs->launches, launch.graph + 1, call, (uint32_t)graphs->list.count);
	if (index == graphs->list.count)
		array_push(&graphs->list, launch);
	before = graphs->have.count;
	lookup_put(&graphs->have, index + 1, node, 0);
	graphs->list.items[index].nodes += graphs->have.count > before;
}

void graphs_finish(const struct graphs *graphs, struct calls *calls)
{
	for (size_t i = 0; i < graphs->list.count; i++) {
		const struct graph_launch *launch = &graphs->list.items[i];
		struct model_call *call = &calls->list.items[launch->call];
		uint32_t nodes = graphs->node_counts.items[launch->graph];
		/* a graph within a graph: its nodes are the launch's, too */
		uint32_t missing = call->nodes_missing + (nodes - launch->nodes);

		call->nodes_missing = missing < UINT16_MAX ? (uint16_t)missing : UINT16_MAX;
	}
}
