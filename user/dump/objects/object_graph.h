/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of a Python process as a graph: which object refers to which, by what name, from the variables of frames and
 * modules on.  Read from outside while the process runs: what it changes meanwhile may be missing, and what makes no
 * sense is left out.  Nothing of the process is called, stopped or written.
 */
#pragma once

#include "dump/objects/object_types.h"
#include "dump/process/python.h"

#define NODE_NONE UINT32_MAX
#define OBJECT_ITEMS_MAX (1u << 23) /* elements of a list or a tuple that are read */

/* How an object is referred to. */
enum object_edge {
	EDGE_MODULE,	/* by sys.modules; name: a str */
	EDGE_FRAME,	/* the frame of a function that runs, or of a generator; object: its code */
	EDGE_CLASS,	/* the class of an object */
	EDGE_GLOBAL,	/* a variable of a module; name: a str */
	EDGE_LOCAL,	/* a variable of a frame; name: a str */
	EDGE_CLOSURE,	/* a variable that a function has from the one around it; name: a str, or 0 */
	EDGE_ATTRIBUTE, /* name: a str */
	EDGE_MEMBER,	/* an attribute in a slot; name: address of its characters */
	EDGE_KEY,	/* the value of a key; name: the key */
	EDGE_ITEM,	/* an element */
	EDGE_OTHER,	/* a word of the object, or the content of a cell */
	EDGE_UNREACHED, /* by nothing that was found: it is only in a list of the collector */
};

struct object_node {
	uint64_t object, name;
	uint32_t parent; /* index of a node, NODE_NONE: none */
	uint32_t type;	 /* index in types.all */
	enum object_edge edge;
};

struct object_graph {
	struct python_look *look;
	struct python_reader reader;
	struct object_types types;
	struct object_node *nodes;
	uint32_t count, most, next; /* next: the first node whose references are not read yet */
	uint64_t *seen;		    /* addresses of objects, by hash */
	uint32_t *seen_nodes;	    /* their nodes */
	uint64_t seen_mask, seed;
	uint64_t cpu_end_ns;
	uint32_t since_clock; /* calls since it was looked at */

	/* References of a container that is being read: they are added once it is known that it stood still. */
	bool holds_back;
	ARRAY(struct object_node) held_back;
	ARRAY(uint32_t)
	changing; /* nodes of containers that did not stand still: they come last, and name what no other does */
	bool takes_changing;

	bool cut; /* the limit of objects or of time was reached */
};

/* most: objects; cpu_ns: processor time that it may take.  False: no memory. */
bool object_graph_begin(struct object_graph *graph, struct python_look *look, uint32_t most, uint64_t cpu_ns);

/* Adds an object that is not known yet. */
void object_graph_add(struct object_graph *graph, uint64_t object, uint32_t parent, enum object_edge edge,
		      uint64_t name);

/* The same of a reference whose type is known; and of a node that no reference finds.  NODE_NONE: there is no room. */
void object_graph_add_reference(struct object_graph *graph, struct object_node node);
uint32_t object_graph_add_node(struct object_graph *graph, struct object_node node);

/* The node of an object; NODE_NONE: it is not known. */
uint32_t object_graph_find(const struct object_graph *graph, uint64_t object);

/* An object whose references are of no use: it is not added. */
void object_graph_mark_seen(struct object_graph *graph, uint64_t object);

/* Whether the limit of time is reached; then the graph is cut. */
bool object_graph_is_late(struct object_graph *graph);

/* The same for a loop of short steps: looks at the clock in one call of 64. */
bool object_graph_is_late_by_now(struct object_graph *graph);
