/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Graphs of a program: which call created an operation's node, and how many operations a graph launch should have: the
 * number of nodes that ran in any launch of that executable graph.  There is no better source, as a graph may be older
 * than the trace, and not every node gives a record.  A node that the program disables for a while
 * (cudaGraphNodeSetEnabled) counts as missing meanwhile.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/tables/calls.h"

struct graph_launch {
	uint32_t call, graph;
	uint32_t nodes; /* distinct nodes with a record */
};

struct graphs {
	struct lookup node_calls;  /* (epoch, node of a graph) to correlation id of the call that created it */
	struct lookup node_clones; /* (epoch, node) to index in clone_sources */
	ARRAY(uint64_t) clone_sources;

	struct lookup executables;   /* (epoch, CUPTI's id) to an index of node_counts */
	struct lookup nodes;	     /* (executable graph + 1, CUPTI's id) to the model's number of the node */
	struct lookup launches;	     /* (executable graph + 1, call) to an index of list */
	struct lookup have;	     /* (launch + 1, node) */
	ARRAY(uint32_t) node_counts; /* by executable graph */
	ARRAY(struct graph_launch) list;
};

void graphs_free(struct graphs *graphs);

void graphs_add_node(struct graphs *graphs, uint32_t epoch, uint64_t node, uint32_t corr);
void graphs_add_clone(struct graphs *graphs, uint32_t epoch, uint64_t node, uint64_t source);

/* Correlation id of the call that created a node or the node it was cloned from, 0: not known. */
uint32_t graphs_node_corr(const struct graphs *graphs, uint32_t epoch, uint64_t node);

/* A node of an executable graph ran in some launch (pass 1). */
void graphs_collect(struct graphs *graphs, uint32_t epoch, uint32_t graph, uint64_t node);

/*
 * Sets model_call.nodes_missing of a part's calls, from the nodes that pass 1 collected.  states: of the model's
 * processes.
 */
void graphs_count_missing(const struct graphs *graphs, const struct process_state *states, struct model *model);

/* Adds an operation of a graph launched by a call; and, after the last, sets model_call.nodes_missing. */
void graphs_add_operation(struct graphs *graphs, uint32_t epoch, uint32_t call, uint32_t graph, uint64_t node);
void graphs_finish(const struct graphs *graphs, struct calls *calls);
