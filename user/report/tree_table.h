/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of calls as a table: a row for each node, behind its parent, with how deep it stands. */
#ifndef GPUTRACE_REPORT_TREE_TABLE_H
#define GPUTRACE_REPORT_TREE_TABLE_H

#include "report/table.h"
#include "report/tree_names.h"

void tree_table_begin(struct table *table);
void tree_table_add_node(struct table *table, const struct tree_names *names, uint32_t node, uint64_t total_ns);

/* Nodes of one parent that have too little time to be shown. */
void tree_table_add_rest(struct table *table, size_t depth, uint64_t count, uint64_t ns, uint64_t total_ns);

#endif
