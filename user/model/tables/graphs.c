/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nodes of graphs and launches of them; see graphs.h. */
#include "model/tables/graphs.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/*
 * A node that runs is a clone, made by instantiation, of a captured node; or of another clone, if a graph is a node of
 * another graph.  A hostile target could make a cycle.
 */
#define CLONES_MAX 8

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

void graphs_add_node(struct graphs *graphs, uint32_t epoch, uint64_t node, uint32_t corr)
{
	*lookup_put(&graphs->node_calls, epoch, node, 0) = corr;
}

void graphs_add_clone(struct graphs *graphs, uint32_t epoch, uint64_t node, uint64_t source)
{
	*lookup_put(&graphs->node_clones, epoch, node, 0) = (uint32_t)graphs->clone_sources.count;
	array_push(&graphs->clone_sources, source);
}

uint32_t graphs_node_corr(const struct graphs *graphs, uint32_t epoch, uint64_t node)
{
	for (unsigned i = 0; i <= CLONES_MAX; i++) {
		const uint32_t *corr = lookup_get(&graphs->node_calls, epoch, node), *source;

		if (corr)
			return *corr;
		source = lookup_get(&graphs->node_clones, epoch, node);
		if (!source)
			return 0;
		node = graphs->clone_sources.items[*source];
	}
	return 0;
}

/* The index of an executable graph in node_counts. */
static uint32_t index_of_executable(struct graphs *graphs, uint32_t epoch, uint32_t graph)
{
	uint32_t index = *lookup_put(&graphs->executables, epoch, graph, (uint32_t)graphs->node_counts.count);

	if (index == graphs->node_counts.count)
		array_push(&graphs->node_counts, 0);
	return index;
}

/* The number of a node; counts the node if it is new. */
static uint32_t note_node(struct graphs *graphs, uint32_t executable, uint64_t graph_node)
{
	size_t before = graphs->nodes.count;
	uint32_t node = *lookup_put(&graphs->nodes, executable + 1, graph_node, (uint32_t)before);

	graphs->node_counts.items[executable] += graphs->nodes.count > before;
	return node;
}

void graphs_collect(struct graphs *graphs, uint32_t epoch, uint32_t graph, uint64_t node)
{
	note_node(graphs, index_of_executable(graphs, epoch, graph), node);
}

/* How many nodes of an executable graph have run; 0: not known. */
static uint32_t graphs_node_count(const struct graphs *graphs, uint32_t epoch, uint32_t graph)
{
	const uint32_t *index = lookup_get(&graphs->executables, epoch, graph);

	return index ? graphs->node_counts.items[*index] : 0;
}

void graphs_add_operation(struct graphs *graphs, uint32_t epoch, uint32_t call, uint32_t graph, uint64_t graph_node)
{
	struct graph_launch launch = {.call = call, .graph = index_of_executable(graphs, epoch, graph)};
	uint32_t node = note_node(graphs, launch.graph, graph_node), index;
	size_t before;

	index = *lookup_put(&graphs->launches, launch.graph + 1, call, (uint32_t)graphs->list.count);
	if (index == graphs->list.count)
		array_push(&graphs->list, launch);
	before = graphs->have.count;
	lookup_put(&graphs->have, index + 1, node, 0);
	graphs->list.items[index].nodes += graphs->have.count > before;
}

void graphs_finish(const struct graphs *graphs, struct calls *calls)
{
	array_each (launch, &graphs->list) {
		struct model_call *call = &calls->list.items[launch->call];
		uint32_t nodes = graphs->node_counts.items[launch->graph];
		/* a graph within a graph: its nodes also belong to the launch */
		uint32_t missing = call->nodes_missing + (nodes - launch->nodes);

		call->nodes_missing = missing < UINT16_MAX ? (uint16_t)missing : UINT16_MAX;
	}
}

/* ---- part by part ------------------------------------------------------------------------------------------------ */

/* An operation's node and its executable graph. */
struct graph_node {
	uint64_t node;
	uint32_t graph;
};

struct graph_nodes {
	ARRAY(struct graph_node) list;
};

DEFINE_ORDER(compare_nodes, struct graph_node, least_first(a->graph, b->graph) ?: least_first(a->node, b->node))

/* Counts missing nodes of all graphs that the call launched: a graph within a graph has its own nodes. */
static uint32_t count_missing(const struct graphs *graphs, uint32_t epoch, struct graph_nodes *nodes)
{
	uint32_t missing = 0;

	array_sort(&nodes->list, compare_nodes);
	for (size_t i = 0; i < nodes->list.count; i++) {
		const struct graph_node *node = &nodes->list.items[i];

		if (!i || node->graph != node[-1].graph)
			missing += graphs_node_count(graphs, epoch, node->graph);
		if (missing && (!i || compare_nodes(node, node - 1)))
			missing--;
	}
	return missing;
}

void graphs_count_missing(const struct graphs *graphs, const struct process_state *states, struct model *model)
{
	struct graph_nodes nodes = {};

	if (!graphs->node_counts.count)
		return;
	for (uint32_t i = model->calls_in_part.from; i < in_part_end(&model->calls_in_part, model->call_count); i++) {
		struct model_call *call = &model->calls[i];
		uint32_t missing;

		nodes.list.count = 0;
		for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next)
			if (model->gpu[op].graph && model->gpu[op].graph_node)
				array_push(&nodes.list, ((struct graph_node){.node = model->gpu[op].graph_node,
									     .graph = model->gpu[op].graph}));
		if (!nodes.list.count)
			continue;
		missing = count_missing(graphs, epoch_at(&states[model->threads[call->thread].process], call->start_ns),
					&nodes);
		call->nodes_missing = missing < UINT16_MAX ? (uint16_t)missing : UINT16_MAX;
	}
	array_free(&nodes.list);
}
