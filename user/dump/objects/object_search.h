/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the objects of a Python process (object_graph.h) that it can reach. */
#pragma once

#include "dump/objects/object_graph.h"

/* Reads all that can be reached from running frames (of look->stacks) and from modules, nearest first. */
void object_search(struct object_graph *graph, unsigned threads);

/* Follows all references from the nodes that there are. */
void object_search_follow(struct object_graph *graph);
