/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/tree/tree_table.h"

#include <stdlib.h>

#define INDENT_MAX 64u

static const char *kind_name(enum tree_node_kind kind)
{
	static const char *const names[] = {
		[TREE_NODE_ALL] = "all",
		[TREE_NODE_PROCESS] = "process",
		[TREE_NODE_THREAD] = "thread",
		[TREE_NODE_NO_STACK] = "no_stack",
		[TREE_NODE_FUNCTION] = "function",
		[TREE_NODE_LIBRARY] = "library",
		[TREE_NODE_OP] = "op",
		[TREE_NODE_WHAT] = "what",
	};

	return names[kind];
}

/*
 * A row.  What ran is a part of the self time of what it ran in, and has none: so the self times of all rows are the
 * whole.
 */
struct tree_row {
	const struct tree_rest *amount;
	size_t depth;
	const char *kind, *label, *name, *place; /* place: NULL, none */
	bool has_self, has_count;
	const struct model_code *function; /* NULL: none */
};

static void add_row(struct table *table, const struct call_tree *tree, const struct tree_row *row, uint64_t total_ns)
{
	const struct tree_rest *amount = row->amount;
	AUTO_FREE char *label = text_indent(2 * (row->depth < INDENT_MAX ? row->depth : INDENT_MAX), row->label);

	table->unit = (struct time_unit){"ms", 1e6};
	table_begin_row(table);
	if (tree->by != TREE_BY_MEMORY) {
		table_add_ns(table, "%s", "time_ns", amount->ns);
		table_add_ns(table, "self %s", "self_ns", amount->self_ns);
		table_unset_unless(table, row->has_self, "");
	} else {
		table_add_memory(table, "at peak", "at_peak_bytes", amount->ns);
		table_add_memory(table, "not freed", "not_freed_bytes", amount->held);
		table_add_growth(table, "per step", "growth_per_step_bytes", amount->growth);
		table_unset_unless(table, tree->growth.count, "-");
	}
	table_add_percent(table, "%", "percent", (double)amount->ns, (double)total_ns);
	table_add_id(table, NULL, "depth", row->depth);
	table_add_word(table, "kind", row->kind);
	table_add_named(table, "what", "name", TEXT_TRUNCATE_MIDDLE, label, row->name);
	table_add_name(table, "where", "place", TEXT_TRUNCATE_START, row->place);
	table_unset_unless(table, row->place, "");
	table_add_count(table, "count", "count", amount->count);
	table_unset_unless(table, row->has_count, "");
	table_add_word(table, "file", row->function ? row->function->file : NULL);
	table_add_id(table, NULL, "line_number", row->function ? row->function->first_line : 0);
	table_unset_unless(table, row->function, "");
}

void tree_table_add_node(struct table *table, const struct tree_names *names, uint32_t index, uint64_t total_ns)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	const struct call_tree *tree = names->nodes->tree;
	uint32_t function = tree_node_function(names, index);
	AUTO_FREE char *name = tree_node_name(names, index), *label = tree_node_label(names, index);
	AUTO_FREE char *place = tree_node_place(names, index);
	struct tree_rest amount = {.ns = node->ns,
				   .self_ns = tree_node_self_ns(names->nodes, index),
				   .held = node->held,
				   .growth = node->growth,
				   .count = node->count};

	add_row(table, tree,
		&(struct tree_row){.amount = &amount,
				   .depth = node->depth,
				   .kind = kind_name(node->kind),
				   .label = label,
				   .name = name,
				   .place = *place ? place : NULL,
				   .has_self = node->kind != TREE_NODE_WHAT,
				   .has_count = node->kind == TREE_NODE_WHAT,
				   .function = function == NONE ? NULL : &tree->model->codes[function]},
		total_ns);
}

void tree_table_add_rest(struct table *table, const struct call_tree *tree, size_t depth, const struct tree_rest *rest,
			 uint64_t total_ns)
{
	AUTO_FREE char *name = xasprintf("[%s smaller]", number_count(rest->count).text);

	add_row(table, tree,
		&(struct tree_row){.amount = rest,
				   .depth = depth,
				   .kind = "smaller",
				   .label = name,
				   .name = name,
				   .has_self = true,
				   .has_count = true},
		total_ns);
}
