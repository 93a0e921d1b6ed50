/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/tree_table.h"

#include <stdlib.h>

#define NO_BREAK_SPACE "\u00a0"
#define INDENT_MAX 64u

void tree_table_begin(struct table *table)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("ms", "time_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_DATA("depth", UNIT_ID),
		COLUMN_DATA("kind", UNIT_TEXT),
		COLUMN_NAME("what", "name", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME("where", "place", TEXT_TRUNCATE_START),
		COLUMN_NUMBER("count", "count", UNIT_COUNT),
		COLUMN_DATA("file", UNIT_TEXT),
		COLUMN_DATA("line_number", UNIT_ID),
		COLUMN_END,
	};

	table_begin(table, columns);
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

/* A name with what tells its depth where blanks would not. */
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

static void add_head(struct table *table, uint64_t ns, uint64_t total_ns, size_t depth, const char *kind,
		     const char *label, const char *name)
{
	table_add_ns(table, ns, (struct time_unit){"ms", 1e6});
	table_add_percent(table, (double)ns, (double)total_ns);
	table_add_id(table, depth);
	table_add(table, kind);
	add_name(table, depth, label, name);
}

void tree_table_add_node(struct table *table, const struct tree_names *names, uint32_t index, uint64_t total_ns)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	uint32_t function = tree_node_function(names, index);
	char *name = tree_node_name(names, index), *label = tree_node_label(names, index);
	char *place = tree_node_place(names, index);

	add_head(table, node->ns, total_ns, node->depth, kind_name(node->kind), label, name);
	if (*place)
		table_add(table, place);
	else
		table_add_unknown(table, "");
	if (node->kind == TREE_NODE_WHAT)
		table_add_count(table, node->count);
	else
		table_add_unknown(table, "");
	if (function == NONE) {
		table_add_unknown(table, "");
		table_add_unknown(table, "");
	} else {
		table_add(table, names->nodes->tree->model->codes[function].file);
		table_add_id(table, names->nodes->tree->model->codes[function].first_line);
	}
	free(name);
	free(label);
	free(place);
}

void tree_table_add_rest(struct table *table, size_t depth, uint64_t count, uint64_t ns, uint64_t total_ns)
{
	char *name = xasprintf("[%s smaller]", number_count(count).text);

	add_head(table, ns, total_ns, depth, "smaller", name, name);
	table_add_unknown(table, "");
	table_add_count(table, count);
	table_add_unknown(table, "");
	table_add_unknown(table, "");
	free(name);
}
