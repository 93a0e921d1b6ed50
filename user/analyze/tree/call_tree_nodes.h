/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The nodes of the tree of calls, made of its sums (call_tree.h): each with the time under it; children of a parent are
 * sorted by time, most first.  Frames of libraries that call each other are one node, unless all are wanted.
 */
#pragma once

#include "analyze/tree/call_tree.h"

enum tree_node_kind {
	TREE_NODE_ALL,
	TREE_NODE_PROCESS,  /* only if there are several: model.processes */
	TREE_NODE_THREAD,   /* only if a process has several: model.threads */
	TREE_NODE_NO_STACK, /* why no function is known: TREE_UNSEEN, TREE_BEFORE or an enum gpt_stack_state */
	TREE_NODE_FUNCTION, /* model.codes: one of the codes with its file, name and first line; PYTHON_PATH_CUT */
	TREE_NODE_LIBRARY,  /* frames of libraries */
	TREE_NODE_OP,	    /* model.strings, NONE */
	TREE_NODE_WHAT,	    /* what ran, as in the keys of sums */
};

struct tree_node {
	enum tree_node_kind kind;
	uint32_t id; /* see enum tree_node_kind */
	uint32_t parent;
	uint32_t depth;	 /* 0 for the first node */
	uint64_t ns;	 /* including all under it; of memory: bytes at the peak */
	uint64_t held;	 /* of memory: bytes not freed, including all under it */
	double growth;	 /* of memory: bytes held more after each step, including all under it */
	uint64_t count;	 /* TREE_NODE_WHAT: how often; of memory: blocks */
	uint32_t frames; /* TREE_NODE_LIBRARY: number of functions */
	uint32_t number; /* of an op with backward nodes: its number among the ops of its name, from 1 on; else 0 */
	uint32_t forward, forward_number; /* of a backward node: name and number of its forward op; NONE, 0 */
	uint32_t children, next;	  /* its first child; the next child of its parent; NONE */
};

struct call_tree_nodes {
	const struct call_tree *tree;
	ARRAY(struct tree_node) all; /* the first is TREE_NODE_ALL */
	struct tally library_frames; /* node, function (model.codes) */
	uint32_t *canonical;	     /* by model.codes: the first code of the same function */
};

/* tree: finished; stays the caller's. */
void call_tree_nodes_make(struct call_tree_nodes *nodes, struct call_tree *tree, bool all_frames);
void call_tree_nodes_free(struct call_tree_nodes *nodes);

/* The part of a node's time that is of no function or op in it: of what ran in the node itself. */
uint64_t tree_node_self_ns(const struct call_tree_nodes *nodes, uint32_t node);
