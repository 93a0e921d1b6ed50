/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/objects/object_graph.h"

#include <sys/mman.h>
#include <time.h>

#include "base/monotonic.h"

#define BETWEEN_CLOCKS 64u

static void *map_zeros(size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return base == MAP_FAILED ? NULL : base;
}

static bool is_late(void *context)
{
	return object_graph_is_late_by_now(context);
}

bool object_graph_begin(struct object_graph *graph, struct python_look *look, uint32_t most, uint64_t cpu_ns)
{
	uint64_t slots = 16;

	while (slots < 2ull * most)
		slots *= 2;
	*graph = (struct object_graph){
		.look = look,
		.reader = {.pid = look->pid,
			   .layout = &look->info.walk.layout,
			   .entries_most = OBJECT_ITEMS_MAX,
			   .is_late = is_late,
			   .context = graph},
		.nodes = map_zeros(most * sizeof(struct object_node)),
		.seen = map_zeros(slots * sizeof(uint64_t)),
		.seen_nodes = map_zeros(slots * sizeof(uint32_t)),
		.most = most,
		.seen_mask = slots - 1,
		.seed = hash_seed(),
		.cpu_end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns,
	};
	object_types_begin(&graph->types, &graph->reader);
	return graph->nodes && graph->seen && graph->seen_nodes;
}

/* The slot of an object that was seen, or the free one where it belongs. */
static uint64_t slot_of_object(const struct object_graph *graph, uint64_t object)
{
	uint64_t at = object * graph->seed;

	at = (at ^ at >> 32) & graph->seen_mask;
	while (graph->seen[at] && graph->seen[at] != object)
		at = (at + 1) & graph->seen_mask;
	return at;
}

uint32_t object_graph_add_node(struct object_graph *graph, struct object_node node)
{
	if (graph->count == graph->most) {
		graph->cut = true;
		return NODE_NONE;
	}
	graph->nodes[graph->count] = node;
	return graph->count++;
}

uint32_t object_graph_find(const struct object_graph *graph, uint64_t object)
{
	uint64_t slot = slot_of_object(graph, object);

	return graph->seen[slot] ? graph->seen_nodes[slot] : NODE_NONE;
}

static bool gives_way(enum object_edge edge)
{
	return edge == EDGE_LOCAL || edge == EDGE_GLOBAL || edge == EDGE_CLOSURE || edge == EDGE_UNREACHED;
}

/* What names an element of a container, too, gives way to it: the container is what holds many. */
static void name_again(struct object_graph *graph, uint32_t index, struct object_node node)
{
	struct object_node *old = &graph->nodes[index];

	if (index == NODE_NONE || graph->types.all.items[old->type].kind != OBJECT_TENSOR || !gives_way(old->edge) ||
	    gives_way(node.edge) || node.edge == EDGE_OTHER || node.edge == EDGE_CLASS)
		return;
	old->parent = node.parent;
	old->edge = node.edge;
	old->name = node.name;
}

void object_graph_add_reference(struct object_graph *graph, struct object_node node)
{
	uint64_t slot = slot_of_object(graph, node.object);
	uint32_t index;

	if (graph->seen[slot]) {
		name_again(graph, graph->seen_nodes[slot], node);
		return;
	}
	index = object_graph_add_node(graph, node);
	if (index == NODE_NONE)
		return;
	graph->seen[slot] = node.object;
	graph->seen_nodes[slot] = index;
}

void object_graph_add(struct object_graph *graph, uint64_t object, uint32_t parent, enum object_edge edge,
		      uint64_t name)
{
	struct object_node node = {.object = object, .name = name, .parent = parent, .edge = edge};
	const struct object_type *type = object_type_of(&graph->types, object);

	if (!type || type->kind == OBJECT_LEAF)
		return;
	node.type = (uint32_t)(type - graph->types.all.items);
	if (!graph->holds_back)
		object_graph_add_reference(graph, node);
	else if (graph->held_back.count < graph->most)
		array_push(&graph->held_back, node);
	else
		graph->cut = true;
}

void object_graph_mark_seen(struct object_graph *graph, uint64_t object)
{
	uint64_t slot = slot_of_object(graph, object);

	graph->seen[slot] = object;
	graph->seen_nodes[slot] = NODE_NONE;
}

bool object_graph_is_late_by_now(struct object_graph *graph)
{
	return ++graph->since_clock % BETWEEN_CLOCKS == 0 && object_graph_is_late(graph);
}

bool object_graph_is_late(struct object_graph *graph)
{
	bool late = clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= graph->cpu_end_ns;

	graph->cut |= late;
	return late;
}
