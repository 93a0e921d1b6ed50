/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of nodes of the tree of calls. */
#pragma once

#include "analyze/tree/call_tree_nodes.h"

struct tree_names {
	const struct call_tree_nodes *nodes;
	size_t shared; /* length of the path prefix that all files of the user's own functions share, in bytes */
};

void tree_names_make(struct tree_names *names, const struct call_tree_nodes *nodes);

/* "train_step", "[12 frames hidden]", "AddmmBackward0 (addmm:1)"; the caller frees it. */
char *tree_node_name(const struct tree_names *names, uint32_t node);

/* The same for a page: a kernel by its label (kernel_label.h). */
char *tree_node_label(const struct tree_names *names, uint32_t node);

/* Its place: "model.py:42", "torch, numpy", or ""; the caller frees it. */
char *tree_node_place(const struct tree_names *names, uint32_t node);

/* The function of a function node, or of a library node with only one function.  model.codes, NONE. */
uint32_t tree_node_function(const struct tree_names *names, uint32_t node);
