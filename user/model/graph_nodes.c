/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many operations a launch of a graph should have had: as many nodes as have run in any launch of that executable
 * graph.  Nothing else tells the number, as a graph may be older than the trace, and not every node gives a record.
 * A node that the program switched off for a while (cudaGraphNodeSetEnabled) counts as missing meanwhile.
 */
#include "model/agent_batch.h"

struct graph_launch {
	uint32_t call, graph;
	uint32_t nodes; /* different ones that have a record */
};

struct graph_nodes {
	struct lookup graphs;	     /* (space, CUPTI's id) to an index of node_counts */
	struct lookup nodes;	     /* (graph + 1, CUPTI's id) to a number of its own */
	struct lookup launches;	     /* (graph + 1, call) to an index of list */
	struct lookup have;	     /* (launch + 1, node) */
	ARRAY(uint32_t) node_counts; /* by graph */
	ARRAY(struct graph_launch) list;
};

static void add_node(struct graph_nodes *nodes, uint32_t space, const struct model_gpu *op)
{
	struct graph_launch launch = {.call = op->call};
	uint32_t node, index;
	size_t before;

	launch.graph = *lookup_put(&nodes->graphs, space, op->graph, (uint32_t)nodes->node_counts.count);
	if (launch.graph == nodes->node_counts.count)
		array_push(&nodes->node_counts, 0);
	before = nodes->nodes.count;
	node = *lookup_put(&nodes->nodes, launch.graph + 1, op->graph_node, (uint32_t)before);
	nodes->node_counts.items[launch.graph] += nodes->nodes.count > before;
	index = *lookup_put(&nodes->launches, launch.graph + 1, op->call, (uint32_t)nodes->list.count);
	if (index == nodes->list.count)
		array_push(&nodes->list, launch);
	before = nodes->have.count;
	lookup_put(&nodes->have, index + 1, node, 0);
	nodes->list.items[index].nodes += nodes->have.count > before;
}

static void mark_call(struct agents *agents, const struct graph_launch *launch, uint32_t nodes)
{
	struct model_call *call = &agents->calls->list.items[launch->call];
	/* a graph within a graph: its nodes are the launch's, too */
	uint32_t missing = call->nodes_missing + (nodes - launch->nodes);

	call->nodes_missing = missing < UINT16_MAX ? (uint16_t)missing : UINT16_MAX;
}

void graph_nodes_count(struct agents *agents)
{
	struct graph_nodes nodes = {0};
	uint64_t seed = agents->node_calls.seed;

	lookup_init(&nodes.graphs, seed);
	lookup_init(&nodes.nodes, seed);
	lookup_init(&nodes.launches, seed);
	lookup_init(&nodes.have, seed);
	for (size_t i = 0; i < agents->gpu.count; i++) {
		const struct model_gpu *op = &agents->gpu.items[i];

		if (op->graph && op->graph_node && op->call != NONE)
			add_node(&nodes, op->next /* its space, so far */, op);
	}
	for (size_t i = 0; i < nodes.list.count; i++)
		mark_call(agents, &nodes.list.items[i], nodes.node_counts.items[nodes.list.items[i].graph]);
	lookup_free(&nodes.graphs);
	lookup_free(&nodes.nodes);
	lookup_free(&nodes.launches);
	lookup_free(&nodes.have);
	array_free(&nodes.node_counts);
	array_free(&nodes.list);
}
