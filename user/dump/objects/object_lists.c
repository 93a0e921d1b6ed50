/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lists (a generation each) are rings through a PyGC_Head before each object, so any object leads to all of its
 * list: where the interpreter keeps the lists need not be known.  Both links must agree at each step; a list that the
 * program changes at that moment ends there.
 */
#include "dump/objects/object_lists.h"

#include <stdlib.h>

#include "dump/objects/object_search.h"

/* PyGC_Head (pycore_gc.h): next, prev; flags in the low bits.  3.7 and older, and free-threaded ones, have another. */
#define HEAD_BYTES 16u
#define HEAD_FLAGS 3ull
#define LISTS_MAX 8 /* generations, and the permanent one */

struct links {
	uint64_t next, prev;
};

struct lists {
	struct object_graph *graph;
	uint8_t *listed; /* by node: it is in a list that was read */
	ARRAY(uint64_t) unreached;
};

static bool read_links(const struct object_graph *graph, uint64_t address, struct links *out)
{
	if (!address || !python_read(&graph->reader, address, out, sizeof(*out)))
		return false;
	out->next &= ~HEAD_FLAGS;
	out->prev &= ~HEAD_FLAGS;
	return out->next && out->prev;
}

/* The head of the list itself stands among those of the objects, and is before none. */
static void note_object(struct lists *lists, uint64_t object, uint32_t first_count)
{
	uint32_t node = object_graph_find(lists->graph, object);

	if (node != NODE_NONE && node < first_count)
		lists->listed[node] = 1;
	else if (node == NODE_NONE && lists->unreached.count < lists->graph->most)
		array_push(&lists->unreached, object);
}

static void read_list(struct lists *lists, uint64_t start, uint32_t first_count)
{
	struct object_graph *graph = lists->graph;
	uint64_t at = start;
	struct links head, next;

	if (!read_links(graph, at, &head))
		return;
	for (uint32_t i = 1; i < 2 * graph->most; i++) {
		if (!read_links(graph, head.next, &next) || next.prev != at)
			return;
		note_object(lists, at + HEAD_BYTES, first_count);
		at = head.next;
		head = next;
		if (at == start || object_graph_is_late_by_now(graph))
			return;
	}
}

static void read_lists(struct lists *lists, uint32_t first_count)
{
	const struct object_graph *graph = lists->graph;
	int count = 0;

	for (uint32_t i = 0; i < first_count && count < LISTS_MAX && !graph->cut; i++) {
		uint64_t start = graph->nodes[i].object - HEAD_BYTES;
		struct links head, next;

		if (lists->listed[i] || graph->nodes[i].edge == EDGE_FRAME || !read_links(graph, start, &head) ||
		    !read_links(graph, head.next, &next) || next.prev != start)
			continue; /* the collector does not track it */
		read_list(lists, start, first_count);
		lists->listed[i] = 1;
		count++;
	}
}

/* Objects with attributes come first: what they hold has a name then. */
static void add_unreached(struct lists *lists, bool with_names)
{
	struct object_graph *graph = lists->graph;

	for (size_t i = 0; i < lists->unreached.count && !graph->cut && !object_graph_is_late_by_now(graph); i++) {
		const struct object_type *type = object_type_of(&graph->types, lists->unreached.items[i]);

		if (type && (type->kind == OBJECT_OTHER && type->is_class) == with_names)
			object_graph_add(graph, lists->unreached.items[i], NODE_NONE, EDGE_UNREACHED, 0);
	}
	object_search_follow(graph);
}

void object_lists_read(struct object_graph *graph)
{
	struct lists lists = {.graph = graph, .listed = xcalloc(graph->count + 1, 1)};

	if (!graph->cut)
		read_lists(&lists, graph->count);
	add_unreached(&lists, true);
	add_unreached(&lists, false);
	free(lists.listed);
	array_free(&lists.unreached);
}
