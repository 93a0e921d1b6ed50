/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The graph of which thread waits for which, over all processes that were looked at: its cycles and its roots. */
#pragma once

#include "dump/peers.h"

struct graph_node {
	const struct dump_process *process;
	struct dump_thread *thread;
	size_t next;	  /* index of the node it waits for, NO_NODE: none, or not looked at */
	unsigned waiting; /* number of nodes that wait for it, directly or through others */
	unsigned cycle;	  /* number of its cycle from 1, 0: in none */
};

#define NO_NODE ((size_t)-1)

struct graph {
	ARRAY(struct graph_node) nodes;
	unsigned cycles;
};

void graph_make(struct graph *graph, const look_list *looks);
void graph_free(struct graph *graph);

/* Whether others wait for it and it waits for no thread that was looked at: it holds them all up. */
bool graph_is_root(const struct graph_node *node);
