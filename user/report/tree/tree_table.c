/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/tree/tree_table.h"

#include <stdlib.h>

#define NO_BREAK_SPACE "\u00a0"
#define INDENT_MAX 64u

#define NODE_COLUMNS                                                                                                   \
	COLUMN_NUMBER("%", "percent", UNIT_PERCENT), COLUMN_DATA("depth", UNIT_ID), COLUMN_DATA("kind", UNIT_TEXT),    \
		COLUMN_NAME("what", "name", TEXT_TRUNCATE_MIDDLE), COLUMN_NAME("where", "place", TEXT_TRUNCATE_START), \
		COLUMN_NUMBER("count", "count", UNIT_COUNT), COLUMN_DATA("file", UNIT_TEXT),                           \
		COLUMN_DATA("line_number", UNIT_ID)

void tree_table_begin(struct table *table, enum tree_by by)
{
	static const struct column of_time[] = {COLUMN_NUMBER("ms", "time_ns", UNIT_NS),
						COLUMN_NUMBER("self ms", "self_ns", UNIT_NS), NODE_COLUMNS, COLUMN_END};
	static const struct column of_memory[] = {
		COLUMN_NUMBER("at peak", "at_peak_bytes", UNIT_BYTES),
		COLUMN_NUMBER("not freed", "not_freed_bytes", UNIT_BYTES),
		COLUMN_NUMBER("per step", "growth_per_step_bytes", UNIT_BYTES_AVG),
		NODE_COLUMNS,
		COLUMN_END,
	};

	table_begin(table, by == TREE_BY_MEMORY ? of_memory : of_time);
}

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

/* Adds a name, indented by its depth with characters that are shown where blanks would not be. */
static void add_name(struct table *table, size_t depth, const char *label, const char *name)
{
	char *indented = xstrdup(label);

	for (size_t i = 0; i < depth && i < INDENT_MAX; i++) {
		char *deeper = xasprintf(NO_BREAK_SPACE NO_BREAK_SPACE "%s", indented);

		free(indented);
		indented = deeper;
	}
	table_add_named(table, indented, name);
	free(indented);
}

/* What ran is a part of the self time of what it ran in, and has none: so the self times of all rows are the whole. */
static void add_amount(struct table *table, const struct call_tree *tree, const struct tree_rest *amount, bool has_self,
		       uint64_t total_ns)
{
	static const struct time_unit ms = {"ms", 1e6};

	if (tree->by != TREE_BY_MEMORY) {
		table_add_ns(table, amount->ns, ms);
		table_add_ns(table, amount->self_ns, ms);
		table_unset_unless(table, has_self, "");
	} else {
		table_add_memory(table, amount->ns);
		table_add_memory(table, amount->held);
		table_add_growth(table, amount->growth);
		table_unset_unless(table, tree->growth.count, "-");
	}
	table_add_percent(table, (double)amount->ns, (double)total_ns);
}

static void add_head(struct table *table, size_t depth, const char *kind, const char *label, const char *name)
{
	table_add_id(table, depth);
	table_add(table, kind);
	add_name(table, depth, label, name);
}

void tree_table_add_node(struct table *table, const struct tree_names *names, uint32_t index, uint64_t total_ns)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	uint32_t function = tree_node_function(names, index);
	AUTO_FREE char *name = tree_node_name(names, index), *label = tree_node_label(names, index);
	AUTO_FREE char *place = tree_node_place(names, index);
	struct tree_rest amount = {.ns = node->ns,
				   .self_ns = tree_node_self_ns(names->nodes, index),
				   .held = node->held,
				   .growth = node->growth};

	add_amount(table, names->nodes->tree, &amount, node->kind != TREE_NODE_WHAT, total_ns);
	add_head(table, node->depth, kind_name(node->kind), label, name);
	table_add_text(table, *place ? place : NULL, "");
	table_add_count(table, node->count);
	table_unset_unless(table, node->kind == TREE_NODE_WHAT, "");
	if (function == NONE) {
		table_add_unknowns(table, 2, "");
	} else {
		table_add(table, names->nodes->tree->model->codes[function].file);
		table_add_id(table, names->nodes->tree->model->codes[function].first_line);
	}
}

void tree_table_add_rest(struct table *table, const struct call_tree *tree, size_t depth, const struct tree_rest *rest,
			 uint64_t total_ns)
{
	AUTO_FREE char *name = xasprintf("[%s smaller]", number_count(rest->count).text);

	add_amount(table, tree, rest, true, total_ns);
	add_head(table, depth, "smaller", name, name);
	table_add_unknown(table, "");
	table_add_count(table, rest->count);
	table_add_unknowns(table, 2, "");
}
