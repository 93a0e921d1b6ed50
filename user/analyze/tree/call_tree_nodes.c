/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a node of each sum: process, thread, functions and ops in the order in which they enclose each other, and what
 * ran.
 */
#include "analyze/tree/call_tree_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"
#include "analyze/tree/call_tree_ops.h"
#include "base/lookup.h"
#include "base/order.h"

/* State while nodes are made. */
struct maker {
	struct call_tree_nodes *nodes;
	struct call_tree *tree;
	const struct model *model;
	bool all_frames;
	bool *library;			    /* by model.codes */
	struct lookup levels;		    /* path of ops, path of functions */
	struct tally children;		    /* parent, kind, id, number of the forward op; more: node */
	struct tally places;		    /* thread, path of ops, path of functions; more: 1 + node */
	struct tally threads;		    /* process, thread: those with sums */
	uint32_t processes;		    /* processes with sums */
	uint32_t *threads_of;		    /* by model.processes: number of its threads with sums */
	uint32_t *forward_node;		    /* by call_tree.forwards: node, NONE: not made yet */
	struct tally numbers;		    /* name of an op; count: numbers used */
	ARRAY(uint32_t) functions, ops, at; /* of the current place, outermost first; `at`: functions around an op */
};

/* ---- the same function ------------------------------------------------------------------------------------------- */

static int by_function(const void *left, const void *right, void *context)
{
	const struct model *model = context;
	const struct model_code *a = &model->codes[*(const uint32_t *)left];
	const struct model_code *b = &model->codes[*(const uint32_t *)right];

	return strcmp(a->file, b->file) ?: strcmp(a->name, b->name) ?: least_first(a->first_line, b->first_line);
}

static int by_function_and_index(const void *left, const void *right, void *context)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return by_function(left, right, context) ?: least_first(a, b);
}

static void find_functions(struct maker *maker)
{
	const struct model *model = maker->model;
	uint32_t *order = xmalloc(model->code_count * sizeof(*order)), first = 0;

	maker->nodes->canonical = xmalloc(model->code_count * sizeof(*maker->nodes->canonical));
	maker->library = xcalloc(model->code_count, sizeof(*maker->library));
	for (uint32_t i = 0; i < model->code_count; i++)
		order[i] = i;
	qsort_r(order, model->code_count, sizeof(*order), by_function_and_index, (void *)model);
	for (uint32_t i = 0; i < model->code_count; i++) {
		if (!i || by_function(&order[first], &order[i], (void *)model))
			first = i;
		maker->nodes->canonical[order[i]] = order[first];
		maker->library[order[i]] = file_is_library(model->codes[order[i]].file);
	}
	free(order);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static uint32_t child_of(struct maker *maker, uint32_t parent, struct tree_node node)
{
	struct tally_key key = {{parent, node.kind, node.id, node.kind == TREE_NODE_OP ? node.forward_number : 0}};
	struct tally_entry *child;

	/* forward ops of different names */
	if (node.kind == TREE_NODE_OP && node.forward != NONE)
		key.part[1] |= (node.forward + 1) << 3;
	child = tally_at(&maker->children, key);
	if (child->more)
		return (uint32_t)child->more;
	child->more = maker->nodes->all.count;
	node.parent = parent;
	node.depth = maker->nodes->all.items[parent].depth + 1;
	node.children = node.next = NONE;
	array_push(&maker->nodes->all, node);
	return (uint32_t)child->more;
}

static uint32_t add_function(struct maker *maker, uint32_t node, uint32_t code)
{
	struct call_tree_nodes *nodes = maker->nodes;
	uint32_t function = code == PYTHON_PATH_CUT ? code : nodes->canonical[code];
	struct tally_entry *frame;

	if (code == PYTHON_PATH_CUT || maker->all_frames || !maker->library[code])
		return child_of(maker, node, (struct tree_node){.kind = TREE_NODE_FUNCTION, .id = function});
	if (nodes->all.items[node].kind != TREE_NODE_LIBRARY)
		node = child_of(maker, node, (struct tree_node){.kind = TREE_NODE_LIBRARY});
	frame = tally_at(&nodes->library_frames, (struct tally_key){{node, function}});
	nodes->all.items[node].frames += !frame->more;
	frame->more = 1;
	return node;
}

static uint32_t add_op(struct maker *maker, uint32_t parent, uint32_t path)
{
	struct op_path op = op_path_of(maker->tree, path);
	struct tree_node node = {.kind = TREE_NODE_OP, .id = op.name, .forward = NONE};
	uint32_t forward = op.forward == NONE ? NONE : maker->forward_node[op.forward];

	if (forward != NONE) {
		node.forward = maker->nodes->all.items[forward].id;
		node.forward_number = maker->nodes->all.items[forward].number;
	}
	return child_of(maker, parent, node);
}

static uint32_t thread_of(struct maker *maker, uint32_t thread, uint32_t functions)
{
	if (thread & TREE_THREAD_INHERITED)
		return call_tree_owner(maker->tree, thread & ~TREE_THREAD_INHERITED, functions);
	return thread & TREE_THREAD_UNSEEN ? NONE : thread;
}

static uint32_t process_of(const struct maker *maker, uint32_t thread)
{
	if (thread & (TREE_THREAD_INHERITED | TREE_THREAD_UNSEEN))
		return thread & ~(TREE_THREAD_INHERITED | TREE_THREAD_UNSEEN);
	return maker->model->threads[thread].process;
}

/* Adds process and thread, where there are several. */
static uint32_t add_thread(struct maker *maker, uint32_t key, uint32_t functions)
{
	uint32_t process = process_of(maker, key), thread = thread_of(maker, key, functions), node = 0;

	if (maker->processes > 1)
		node = child_of(maker, node, (struct tree_node){.kind = TREE_NODE_PROCESS, .id = process});
	if (maker->threads_of[process] > 1 && thread != NONE)
		node = child_of(maker, node, (struct tree_node){.kind = TREE_NODE_THREAD, .id = thread});
	return node;
}

/* ---- functions and ops of a place -------------------------------------------------------------------------------- */

static void list_functions(struct maker *maker, uint32_t functions)
{
	const struct python_path *paths = maker->tree->functions.all.items;

	maker->functions.count = 0;
	for (uint32_t i = 0; i < paths[functions].depth; i++)
		array_push(&maker->functions, 0);
	for (; paths[functions].depth; functions = paths[functions].parent)
		maker->functions.items[paths[functions].depth - 1] = paths[functions].code;
}

/* The number of functions around an op: those of the deepest known place of the op on this path, else all run in it. */
static uint32_t level_of(const struct maker *maker, uint32_t ops, uint32_t functions, uint32_t least)
{
	const struct python_path *paths = maker->tree->functions.all.items;

	for (uint32_t path = functions; paths[path].depth > least; path = paths[path].parent)
		if (lookup_get(&maker->levels, ops, path))
			return paths[path].depth;
	return least;
}

static void list_ops(struct maker *maker, uint32_t ops, uint32_t functions)
{
	uint32_t least = 0;
	size_t count = 0;

	maker->ops.count = maker->at.count = 0;
	for (uint32_t path = ops; path != OP_PATH_NONE; path = op_path_of(maker->tree, path).around)
		count++;
	for (size_t i = 0; i < count; i++) {
		array_push(&maker->ops, 0);
		array_push(&maker->at, 0);
	}
	for (uint32_t path = ops; path != OP_PATH_NONE; path = op_path_of(maker->tree, path).around)
		maker->ops.items[--count] = path;
	for (size_t i = 0; i < maker->ops.count; i++)
		maker->at.items[i] = least = level_of(maker, maker->ops.items[i], functions, least);
}

static uint32_t make_place(struct maker *maker, uint32_t thread, uint32_t ops, uint32_t functions)
{
	uint32_t known = functions < TREE_NO_STACK ? functions : PYTHON_PATH_ROOT, node;
	size_t op = 0;

	node = add_thread(maker, thread, known);
	if (functions >= TREE_DRIVER)
		node = child_of(maker, node, (struct tree_node){.kind = TREE_NODE_NO_STACK, .id = functions});
	else if (functions >= TREE_NO_STACK)
		node = child_of(maker, node,
				(struct tree_node){.kind = TREE_NODE_NO_STACK, .id = functions & ~TREE_NO_STACK});
	list_functions(maker, known);
	list_ops(maker, ops, known);
	for (uint32_t depth = 0; depth <= maker->functions.count; depth++) {
		for (; op < maker->ops.count && maker->at.items[op] == depth; op++)
			node = add_op(maker, node, maker->ops.items[op]);
		if (depth < maker->functions.count)
			node = add_function(maker, node, maker->functions.items[depth]);
	}
	return node;
}

static uint32_t place_at(struct maker *maker, uint32_t thread, uint32_t ops, uint32_t functions)
{
	struct tally_entry *place = tally_at(&maker->places, (struct tally_key){{thread, ops, functions}});

	if (!place->more)
		place->more = make_place(maker, thread, ops, functions) + 1ull;
	return (uint32_t)place->more - 1;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void find_threads(struct maker *maker)
{
	const struct tally *sums = &maker->tree->sums;

	maker->threads_of = xcalloc(maker->model->process_count, sizeof(*maker->threads_of));
	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t *part = sums->entries[i].key.part;
		uint32_t process = process_of(maker, part[0]);
		uint32_t thread = thread_of(maker, part[0], part[2] < TREE_NO_STACK ? part[2] : PYTHON_PATH_ROOT);
		struct tally_entry *of_process, *entry;

		if (!sums->entries[i].ns)
			continue;
		of_process = tally_at(&maker->threads, (struct tally_key){{process, NONE}});
		maker->processes += !of_process->more;
		of_process->more = 1;
		entry = tally_at(&maker->threads, (struct tally_key){{process, thread}});
		maker->threads_of[process] += thread != NONE && !entry->more;
		entry->more = 1;
	}
}

/* Numbers the forward ops of backward nodes, in the order in which the first of each ended. */
static void number_forwards(struct maker *maker)
{
	const struct tally *forwards = &maker->tree->forwards, *paths = &maker->tree->op_paths;
	bool *wanted = xcalloc(forwards->count, sizeof(*wanted));

	maker->forward_node = xmalloc(forwards->count * sizeof(*maker->forward_node));
	for (size_t i = 0; i < paths->count; i++)
		if (paths->entries[i].key.part[2])
			wanted[paths->entries[i].key.part[2] - 1] = true;
	for (size_t i = 0; i < forwards->count; i++)
		maker->forward_node[i] = NONE;
	for (size_t i = 0; i < forwards->count; i++) {
		const uint32_t *part = forwards->entries[i].key.part;
		struct tree_node *node;

		if (!wanted[i])
			continue;
		maker->forward_node[i] = place_at(maker, part[2], part[0], part[1]);
		node = &maker->nodes->all.items[maker->forward_node[i]];
		if (!node->number)
			node->number = (uint32_t)++tally_at(&maker->numbers, (struct tally_key){{node->id}})->count;
	}
	free(wanted);
}

static void add_sums(struct maker *maker)
{
	const struct tally *sums = &maker->tree->sums;

	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];
		uint32_t node;

		if (!sum->ns)
			continue;
		node = place_at(maker, sum->key.part[0], sum->key.part[1], sum->key.part[2]);
		node = child_of(maker, node, (struct tree_node){.kind = TREE_NODE_WHAT, .id = sum->key.part[3]});
		maker->nodes->all.items[node].ns += sum->ns;
		maker->nodes->all.items[node].count += sum->count;
		maker->nodes->all.items[node].held += sum->more;
		if (i < maker->tree->growth.count)
			maker->nodes->all.items[node].growth += maker->tree->growth.items[i];
	}
}

/* Parents come before their children in the list. */
static void sum_up(struct call_tree_nodes *nodes)
{
	for (size_t i = nodes->all.count; i-- > 1;) {
		struct tree_node *parent = &nodes->all.items[nodes->all.items[i].parent];

		parent->ns += nodes->all.items[i].ns;
		parent->held += nodes->all.items[i].held;
		parent->growth += nodes->all.items[i].growth;
	}
}

static int by_time(const void *left, const void *right, void *context)
{
	const struct call_tree_nodes *nodes = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return most_first(nodes->all.items[a].ns, nodes->all.items[b].ns) ?: least_first(a, b);
}

/* Links the children of each node, most time first; nodes without time are left out. */
static void link_children(struct call_tree_nodes *nodes)
{
	AUTO_FREE uint32_t *order = xmalloc(nodes->all.count * sizeof(*order));

	for (uint32_t i = 0; i < nodes->all.count; i++)
		order[i] = i;
	qsort_r(order, nodes->all.count, sizeof(*order), by_time, nodes);
	for (size_t i = nodes->all.count; i-- > 0;) {
		struct tree_node *node = &nodes->all.items[order[i]];
		struct tree_node *parent = &nodes->all.items[node->parent];

		if (!order[i] || !node->ns)
			continue;
		node->next = parent->children;
		parent->children = order[i];
	}
}

void call_tree_nodes_make(struct call_tree_nodes *nodes, struct call_tree *tree, bool all_frames)
{
	struct maker maker = {.nodes = nodes, .tree = tree, .model = tree->model, .all_frames = all_frames};

	*nodes = (struct call_tree_nodes){.tree = tree};
	array_push(&nodes->all,
		   ((struct tree_node){.kind = TREE_NODE_ALL, .id = NONE, .children = NONE, .next = NONE}));
	for (size_t i = 0; i < tree->levels.count; i++)
		lookup_put(&maker.levels, tree->levels.entries[i].key.part[0], tree->levels.entries[i].key.part[1], 1);
	find_functions(&maker);
	find_threads(&maker);
	number_forwards(&maker);
	add_sums(&maker);
	sum_up(nodes);
	link_children(nodes);
	lookup_free(&maker.levels);
	tally_free(&maker.children);
	tally_free(&maker.places);
	tally_free(&maker.threads);
	tally_free(&maker.numbers);
	array_free(&maker.functions);
	array_free(&maker.ops);
	array_free(&maker.at);
	free(maker.library);
	free(maker.threads_of);
	free(maker.forward_node);
}

uint64_t tree_node_self_ns(const struct call_tree_nodes *nodes, uint32_t node)
{
	uint64_t ns = 0;

	for (uint32_t child = nodes->all.items[node].children; child != NONE; child = nodes->all.items[child].next)
		if (nodes->all.items[child].kind == TREE_NODE_WHAT)
			ns += nodes->all.items[child].ns;
	return ns;
}

void call_tree_nodes_free(struct call_tree_nodes *nodes)
{
	array_free(&nodes->all);
	tally_free(&nodes->library_frames);
	free(nodes->canonical);
}
