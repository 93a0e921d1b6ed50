/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of calls as a table: a row for each node, after its parent, with its depth. */
#pragma once

#include "report/table/table.h"
#include "report/tree/tree_names.h"

/* The children of a node that are too small to be shown. */
struct tree_rest {
	uint64_t ns, held; /* as in tree_node */
	uint64_t self_ns;  /* of functions and ops, including all under them: none of it is a shown node's own */
	double growth;
	uint64_t count;
};

void tree_table_add_node(struct table *table, const struct tree_names *names, uint32_t node, uint64_t total_ns);
void tree_table_add_rest(struct table *table, const struct call_tree *tree, size_t depth, const struct tree_rest *rest,
			 uint64_t total_ns);
