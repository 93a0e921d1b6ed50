/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A breadth-first search: first from the variables of frames and of `__main__`, then from all other modules, so that an
 * object's first name is the shortest one in the program itself.
 */
#include "dump/objects/object_search.h"

#include "dump/objects/object_references.h"

#define INTERPRETERS_MAX 16

void object_search_follow(struct object_graph *graph)
{
	for (; graph->next < graph->count && !graph->cut; graph->next++) {
		if (graph->nodes[graph->next].edge != EDGE_FRAME)
			object_references_read(graph, graph->next);
		(void)object_graph_is_late_by_now(graph);
	}
}

/* ---- where it begins ----------------------------------------------------------------------------------------- */

struct modules {
	struct object_graph *graph;
	bool main; /* wanted: `__main__`, else all others */
	bool mark; /* only keeps their globals from being found through a function */
	uint32_t marked;
};

static bool visit_module(void *context, uint64_t key, uint64_t value)
{
	struct modules *modules = context;
	struct object_graph *graph = modules->graph;
	const struct object_type *type;

	if (modules->mark) {
		uint64_t dict = python_module_dict(&graph->reader, value);

		object_graph_mark_seen(graph, value);
		if (dict)
			object_graph_mark_seen(graph, dict);
		return ++modules->marked < graph->most / 4;
	}
	if (python_is_str(&graph->reader, key, "__main__") != modules->main)
		return true;
	type = object_type_of(&graph->types, value);
	if (type && type->kind == OBJECT_MODULE)
		object_graph_add_node(graph, (struct object_node){.object = value,
								  .name = key,
								  .parent = NODE_NONE,
								  .type = (uint32_t)(type - graph->types.all.items),
								  .edge = EDGE_MODULE});
	return !graph->cut;
}

static void each_module(struct object_graph *graph, bool main, bool mark)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t interpreter =
		python_read_word(&graph->reader, graph->look->info.walk.runtime + layout->runtime_interpreters_head);
	struct modules modules = {.graph = graph, .main = main, .mark = mark};

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		python_dict_each(&graph->reader, python_read_word(&graph->reader, interpreter + layout->interp_modules),
				 visit_module, &modules);
		interpreter = python_read_word(&graph->reader, interpreter + layout->interp_next);
	}
}

void object_search(struct object_graph *graph, unsigned threads)
{
	each_module(graph, false, true);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned k = 0; k < graph->look->stacks[i].count; k++)
			object_references_of_frame(graph, graph->look->stacks[i].frames[k].frame, NODE_NONE);
	each_module(graph, true, false);
	object_search_follow(graph);
	each_module(graph, false, false);
	object_search_follow(graph);
	graph->takes_changing = true;
	for (size_t i = 0; i < graph->changing.count && !graph->cut; i++)
		object_references_read(graph, graph->changing.items[i]);
	object_search_follow(graph);
}
