/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an object of a Python process refers to, by its kind: added to the graph (object_graph.h). */
#pragma once

#include "dump/objects/object_graph.h"

/* Adds all that the node's object refers to. */
void object_references_read(struct object_graph *graph, uint32_t index);

/* Adds a frame, 0: none, and its variables. */
void object_references_of_frame(struct object_graph *graph, uint64_t frame, uint32_t parent);
