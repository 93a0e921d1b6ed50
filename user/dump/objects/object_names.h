/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a programmer calls an object that was found in a graph (object_graph.h). */
#pragma once

#include "base/safe_text.h"
#include "dump/objects/object_graph.h"

struct object_name {
	uint32_t slot;	   /* the node that the name is of */
	text_buffer place; /* "History.losses", "__main__.cache", "local x of train" */
	text_buffer path;  /* how it is reached: "__main__.trainer.history.losses" */
	text_buffer type;  /* "list"; "" if the slot is the tensor itself */
	uint64_t items;	   /* of a container, UINT64_MAX: it is none */
};

/*
 * The node that has a name of its own: the nearest one, from `node` outwards, that is a variable or an attribute, not
 * an element of a container.
 */
uint32_t object_slot(struct object_graph *graph, uint32_t node);

/* suffix: appended to place and path (".grad" of a parameter), "".  The caller frees the texts. */
void object_name(struct object_graph *graph, uint32_t slot, const char *suffix, struct object_name *out);
