/*
 * graph.c: CUDA graphs. While a stream captures, work becomes nodes; instantiation clones them; a
 * launch places one piece of work per node, all with the launch's correlation id.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cupti_callbacks.h>

#include "sim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t last_graph;
static _Atomic uint64_t last_capture;

CUgraph sim_graph_create(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	if (!graph)
		abort();
	graph->id = atomic_fetch_add(&last_graph, 1) + 1;
	sim_resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &(struct sim_resource){.graph = graph});
	return graph;
}

static void nodes_free(struct CUgraph_st *graph)
{
	for (CUgraphNode node = graph->first, next; node; node = next) {
		next = node->next;
		free(node);
	}
}

void sim_graph_destroy(CUgraph graph)
{
	sim_resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, &(struct sim_resource){.graph = graph});
	nodes_free(graph);
	free(graph);
}

static CUgraphNode node_append(struct CUgraph_st *graph, CUgraphNodeType type, const struct sim_work *work)
{
	CUgraphNode node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->type = type;
	if (work)
		node->work = *work;
	pthread_mutex_lock(&lock);
	node->id = (uint64_t)graph->id << 32 | graph->nodes++;
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	pthread_mutex_unlock(&lock);
	return node;
}

CUgraphNode sim_graph_add(CUgraph graph, CUgraphNodeType type, const struct sim_work *work)
{
	CUgraphNode node = node_append(graph, type, work);

	sim_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &(struct sim_resource){.graph = graph, .node = node});
	return node;
}

/*
 * A clone's source fields name the graph and node it was captured as. Ids are copied, because the
 * graph may be destroyed before a launch.
 */
CUgraphExec sim_graph_instantiate(CUgraph graph)
{
	CUgraphExec exec = calloc(1, sizeof(*exec));

	if (!exec)
		abort();
	exec->graph.id = atomic_fetch_add(&last_graph, 1) + 1;
	exec->source = graph->id;
	sim_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
		     &(struct sim_resource){.graph = graph, .exec = exec});
	for (CUgraphNode node = graph->first; node; node = node->next) {
		CUgraphNode clone = node_append(&exec->graph, node->type, &node->work);

		clone->host = node->host;
		clone->host_data = node->host_data;
		clone->work.graph = exec->graph.id;
		clone->work.node = clone->id;
		clone->work.source_graph = graph->id;
		clone->work.source_node = node->id;
		sim_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &(struct sim_resource){.graph = &exec->graph,
											  .source_graph = graph,
											  .node = clone,
											  .source_node = node,
											  .exec = exec});
	}
	sim_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, &(struct sim_resource){.graph = graph, .exec = exec});
	return exec;
}

void sim_graph_exec_destroy(CUgraphExec exec)
{
	sim_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, &(struct sim_resource){.exec = exec});
	nodes_free(&exec->graph);
	free(exec);
}

void sim_graph_launch(CUgraphExec exec, CUstream handle)
{
	CUstream stream = sim_stream_resolve(handle);

	for (CUgraphNode node = exec->graph.first; node; node = node->next) {
		struct sim_work work = node->work;

		if (node->host)
			node->host(node->host_data);
		else if (work.name)
			sim_submit(stream, &work);
	}
}

/* graph NULL: into a new one. */
bool sim_capture_begin(CUstream handle, CUgraph graph)
{
	CUstream stream = sim_stream_resolve(handle);

	if (stream->capture)
		return false;
	stream->capture = graph ? graph : sim_graph_create();
	stream->capture_id = atomic_fetch_add(&last_capture, 1) + 1;
	stream->capture_origin = true;
	return true;
}

static __thread CUgraph ending;

static void leave_capture(CUstream stream)
{
	if (stream->capture == ending) {
		stream->capture = NULL;
		stream->capture_origin = false;
	}
}

/* Streams that joined by an event leave the capture together with its origin stream. */
CUgraph sim_capture_end(CUstream handle)
{
	CUstream stream = sim_stream_resolve(handle);

	if (!stream->capture_origin)
		return NULL;
	ending = stream->capture;
	sim_for_each_stream(leave_capture);
	return ending;
}
