/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A breadth-first search: first from the variables of frames and of `__main__`, then from all other modules, so that an
 * object's first name is the shortest one in the program itself.  References of C types that are not known are the
 * words in them that are addresses of objects.
 */
#include "dump/process/object_graph.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/monotonic.h"

#define INTERPRETERS_MAX 16
#define WINDOW 128u
#define ITEMS_MAX (1u << 23) /* of a list or a tuple */
#define LOCALS_MAX 1024u
#define SCANNED_MAX 1024u /* bytes of an object of an unknown type */
#define BETWEEN_CLOCKS 64u

/* PyListObject.ob_item; PyCellObject.ob_ref; PyTypeObject.tp_dict; PyFrameObject.f_frame, 3.11 and later */
#define LIST_ITEMS 24u
#define CELL_CONTENT 16u
#define TYPE_DICT 264u
#define FRAME_FRAME 24u
/* PyFunctionObject (cpython/funcobject.h), 3.10 and later */
#define FUNCTION_CODE 48u
#define FUNCTION_CLOSURE 72u
/* dequeobject and its blocks (Modules/_collectionsmodule.c): a link, 64 objects, a link */
#define DEQUE_LEFT 24u
#define DEQUE_LEFT_INDEX 40u
#define DEQUE_BLOCK 64u

#define SINCE(minor) (3u << 8 | (minor))
#define TAGS 7ull /* of a _PyStackRef, 3.14 and later */

static void *map_zeros(size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return base == MAP_FAILED ? NULL : base;
}

bool object_graph_begin(struct object_graph *graph, struct python_look *look, uint32_t most, uint64_t cpu_ns)
{
	uint64_t slots = 16;

	while (slots < 2ull * most)
		slots *= 2;
	*graph = (struct object_graph){
		.look = look,
		.reader = {.pid = look->pid, .layout = &look->info.walk.layout, .entries_most = ITEMS_MAX},
		.nodes = map_zeros(most * sizeof(struct object_node)),
		.seen = map_zeros(slots * sizeof(uint64_t)),
		.seen_nodes = map_zeros(slots * sizeof(uint32_t)),
		.most = most,
		.seen_mask = slots - 1,
		.seed = hash_seed(),
		.cpu_end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns,
	};
	object_types_begin(&graph->types, &graph->reader);
	return graph->nodes && graph->seen && graph->seen_nodes;
}

static uint64_t read_word(const struct object_graph *graph, uint64_t address)
{
	return python_read_word(&graph->reader, address);
}

/* The slot of an object that was seen, or the free one where it belongs. */
static uint64_t slot_of_object(const struct object_graph *graph, uint64_t object)
{
	uint64_t at = object * graph->seed;

	at = (at ^ at >> 32) & graph->seen_mask;
	while (graph->seen[at] && graph->seen[at] != object)
		at = (at + 1) & graph->seen_mask;
	return at;
}

static void mark_seen(struct object_graph *graph, uint64_t object, uint32_t node)
{
	uint64_t slot = slot_of_object(graph, object);

	graph->seen[slot] = object;
	graph->seen_nodes[slot] = node;
}

static uint32_t add_node(struct object_graph *graph, struct object_node node)
{
	if (graph->count == graph->most) {
		graph->cut = true;
		return NODE_NONE;
	}
	graph->nodes[graph->count] = node;
	return graph->count++;
}

uint32_t object_graph_find(const struct object_graph *graph, uint64_t object)
{
	uint64_t slot = slot_of_object(graph, object);

	return graph->seen[slot] ? graph->seen_nodes[slot] : NODE_NONE;
}

static bool gives_way(enum object_edge edge)
{
	return edge == EDGE_LOCAL || edge == EDGE_GLOBAL || edge == EDGE_CLOSURE || edge == EDGE_UNREACHED;
}

/* What names an element of a container, too, gives way to it: the container is what holds many. */
static void name_again(struct object_graph *graph, uint32_t index, struct object_node node)
{
	struct object_node *old = &graph->nodes[index];

	if (index == NODE_NONE || graph->types.all.items[old->type].kind != OBJECT_TENSOR || !gives_way(old->edge) ||
	    gives_way(node.edge) || node.edge == EDGE_OTHER || node.edge == EDGE_CLASS)
		return;
	old->parent = node.parent;
	old->edge = node.edge;
	old->name = node.name;
}

void object_graph_add(struct object_graph *graph, uint64_t object, uint32_t parent, enum object_edge edge,
		      uint64_t name)
{
	struct object_node node = {.object = object, .name = name, .parent = parent, .edge = edge};
	const struct object_type *type = object_type_of(&graph->types, object);
	uint64_t slot;
	uint32_t index;

	if (!type || type->kind == OBJECT_LEAF)
		return;
	node.type = (uint32_t)(type - graph->types.all.items);
	slot = slot_of_object(graph, object);
	if (graph->seen[slot]) {
		name_again(graph, graph->seen_nodes[slot], node);
		return;
	}
	index = add_node(graph, node);
	if (index == NODE_NONE)
		return;
	graph->seen[slot] = object;
	graph->seen_nodes[slot] = index;
}

struct visit {
	struct object_graph *graph;
	uint32_t parent;
	enum object_edge edge;
};

static bool visit_entry(void *context, uint64_t key, uint64_t value)
{
	struct visit *visit = context;

	object_graph_add(visit->graph, value ? value : key, visit->parent, visit->edge, value ? key : 0);
	return !visit->graph->cut;
}

static bool visit_pair(void *context, uint64_t key, uint64_t value)
{
	struct visit *visit = context;

	object_graph_add(visit->graph, key, visit->parent, EDGE_OTHER, 0);
	return visit_entry(context, key, value);
}

static void push_items(struct object_graph *graph, uint64_t items, uint64_t count, uint32_t parent)
{
	uint64_t window[WINDOW];

	count = count < ITEMS_MAX ? count : ITEMS_MAX;
	for (uint64_t i = 0; i < count && !graph->cut; i += WINDOW) {
		uint64_t some = count - i < WINDOW ? count - i : WINDOW;

		if (!python_read(&graph->reader, items + i * 8, window, some * 8))
			return;
		for (uint64_t k = 0; k < some; k++)
			object_graph_add(graph, window[k], parent, EDGE_ITEM, i + k);
	}
}

static void push_deque(struct object_graph *graph, uint64_t deque, uint32_t parent)
{
	uint64_t count = read_word(graph, deque + graph->reader.layout->var_size),
		 block = read_word(graph, deque + DEQUE_LEFT);
	uint64_t index = read_word(graph, deque + DEQUE_LEFT_INDEX);

	for (uint64_t i = 0; i < count && i < ITEMS_MAX && block && index < DEQUE_BLOCK && !graph->cut; i++) {
		object_graph_add(graph, read_word(graph, block + 8 + 8 * index), parent, EDGE_ITEM, i);
		if (++index == DEQUE_BLOCK) {
			block = read_word(graph, block + 8 + 8 * DEQUE_BLOCK);
			index = 0;
		}
	}
}

static void push_module(struct object_graph *graph, uint64_t module, uint32_t parent)
{
	struct visit visit = {graph, parent, EDGE_GLOBAL};

	python_dict_each(&graph->reader, python_module_dict(&graph->reader, module), visit_entry, &visit);
}

static void push_attributes(struct object_graph *graph, uint64_t object, uint32_t parent)
{
	struct visit visit = {graph, parent, EDGE_ATTRIBUTE};

	python_each_attribute(&graph->reader, object, visit_entry, &visit);
}

static void push_class(struct object_graph *graph, uint64_t type, uint32_t parent)
{
	struct visit visit = {graph, parent, EDGE_ATTRIBUTE};
	uint64_t dict = graph->types.all.items[graph->nodes[parent].type].kind == OBJECT_TYPE
				? read_word(graph, type + TYPE_DICT)
				: 0;

	if (dict)
		python_dict_each(&graph->reader, dict, visit_entry, &visit);
}

/* Words of an object that are addresses of objects. */
static void push_words(struct object_graph *graph, uint64_t object, uint32_t bytes, uint32_t parent)
{
	uint64_t words[SCANNED_MAX / 8];

	bytes = bytes < SCANNED_MAX ? bytes & ~7u : SCANNED_MAX;
	if (bytes <= 16 || !python_read(&graph->reader, object, words, bytes))
		return;
	for (uint32_t i = 2; i < bytes / 8 && !graph->cut; i++)
		object_graph_add(graph, words[i], parent, EDGE_OTHER, 0);
}

/* Variables of a frame, whose node is `parent`. */
static void push_locals(struct object_graph *graph, uint64_t frame, uint64_t code, uint32_t parent)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t names = read_word(graph, code + layout->code_local_names);
	uint64_t count = names ? read_word(graph, names + layout->var_size) : 0;

	for (uint64_t i = 0; i < count && i < LOCALS_MAX; i++)
		object_graph_add(graph, read_word(graph, frame + layout->frame_localsplus + 8 * i) & ~TAGS, parent,
				 EDGE_LOCAL, read_word(graph, names + layout->tuple_items + 8 * i));
}

static void push_frame(struct object_graph *graph, uint64_t frame, uint32_t parent)
{
	uint64_t code = frame ? read_word(graph, frame + graph->reader.layout->frame_code) & ~TAGS : 0;
	const struct object_type *type = object_type_of(&graph->types, code);
	uint32_t index;

	if (!type || strcmp(type->name, "code") != 0)
		return;
	index = add_node(graph, (struct object_node){.object = code, .parent = parent, .edge = EDGE_FRAME});
	if (index != NODE_NONE)
		push_locals(graph, frame, code, index);
}

static void push_generator(struct object_graph *graph, uint64_t object, uint32_t parent)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t frame = object + layout->gen_frame;
	uint8_t state = 0;

	if (layout->gen_frame_state == GPT_PY_ABSENT)
		frame = read_word(graph, frame);
	else if (!python_read(&graph->reader, object + layout->gen_frame_state, &state, 1) ||
		 (state != layout->gen_created && (uint8_t)(state - layout->gen_suspended_first) >
							  layout->gen_suspended_last - layout->gen_suspended_first))
		return;
	push_frame(graph, frame, parent);
}

/* The variables that a function has from those around it: the last names of its code, from 3.11 on. */
static void push_closure(struct object_graph *graph, uint64_t function, uint32_t parent)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t closure = read_word(graph, function + FUNCTION_CLOSURE),
		 code = read_word(graph, function + FUNCTION_CODE);
	uint64_t count = closure ? read_word(graph, closure + layout->var_size) : 0;
	uint64_t names = layout->version >= SINCE(11) ? read_word(graph, code + layout->code_local_names) : 0;
	uint64_t name_count = names ? read_word(graph, names + layout->var_size) : 0;

	for (uint64_t i = 0; i < count && i < LOCALS_MAX; i++) {
		uint64_t cell = read_word(graph, closure + layout->tuple_items + 8 * i), name = 0;

		if (name_count >= count)
			name = read_word(graph, names + layout->tuple_items + 8 * (name_count - count + i));
		object_graph_add(graph, cell ? read_word(graph, cell + CELL_CONTENT) : 0, parent, EDGE_CLOSURE, name);
	}
}

static void push_other(struct object_graph *graph, uint32_t index, const struct object_type *type)
{
	uint64_t object = graph->nodes[index].object;

	push_attributes(graph, object, index);
	for (uint32_t i = 0; i < type->member_count; i++) {
		struct object_member member = graph->types.members.items[type->first_member + i];

		object_graph_add(graph, read_word(graph, object + member.offset), index, EDGE_MEMBER, member.name);
	}
	push_words(graph, object, type->bytes, index);
	if (type->is_class)
		object_graph_add(graph, type->address, index, EDGE_CLASS, 0);
}

static void push_container(struct object_graph *graph, uint32_t index, const struct object_type *type)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t object = graph->nodes[index].object;
	struct visit visit = {graph, index, EDGE_KEY};

	if (type->kind == OBJECT_LIST)
		push_items(graph, read_word(graph, object + LIST_ITEMS), read_word(graph, object + layout->var_size),
			   index);
	else if (type->kind == OBJECT_TUPLE)
		push_items(graph, object + layout->tuple_items, read_word(graph, object + layout->var_size), index);
	else if (type->kind == OBJECT_DEQUE)
		push_deque(graph, object, index);
	else if (type->kind == OBJECT_DICT)
		python_dict_each(&graph->reader, object, visit_pair, &visit);
	visit.edge = EDGE_ITEM;
	if (type->kind == OBJECT_SET)
		python_set_each(&graph->reader, object, visit_entry, &visit);
	if (type->is_class)
		push_attributes(graph, object, index);
}

static void read_references(struct object_graph *graph, uint32_t index)
{
	struct object_type type = graph->types.all.items[graph->nodes[index].type];
	uint64_t object = graph->nodes[index].object;

	switch (type.kind) {
	case OBJECT_LEAF:
		break;
	case OBJECT_LIST:
	case OBJECT_TUPLE:
	case OBJECT_DICT:
	case OBJECT_SET:
	case OBJECT_DEQUE:
		push_container(graph, index, &type);
		break;
	case OBJECT_MODULE:
		push_module(graph, object, index);
		break;
	case OBJECT_TYPE:
		push_class(graph, object, index);
		break;
	case OBJECT_CELL:
		object_graph_add(graph, read_word(graph, object + CELL_CONTENT), index, EDGE_OTHER, 0);
		break;
	case OBJECT_TENSOR:
		push_attributes(graph, object, index);
		break;
	case OBJECT_GENERATOR:
		push_generator(graph, object, index);
		push_words(graph, object, type.bytes, index);
		break;
	case OBJECT_FRAME:
		push_frame(graph,
			   graph->reader.layout->walk == GPT_PY_WALK_OBJECTS ? object
									     : read_word(graph, object + FRAME_FRAME),
			   index);
		push_words(graph, object, type.bytes, index);
		break;
	case OBJECT_FUNCTION:
		if (graph->reader.layout->version >= SINCE(10))
			push_closure(graph, object, index);
		push_words(graph, object, type.bytes, index);
		break;
	case OBJECT_OTHER:
		push_other(graph, index, &type);
		break;
	}
}

bool object_graph_is_late(struct object_graph *graph)
{
	bool late = clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= graph->cpu_end_ns;

	graph->cut |= late;
	return late;
}

void object_graph_follow(struct object_graph *graph)
{
	for (uint32_t since = 0; graph->next < graph->count && !graph->cut; graph->next++) {
		if (graph->nodes[graph->next].edge != EDGE_FRAME)
			read_references(graph, graph->next);
		if (++since % BETWEEN_CLOCKS == 0)
			object_graph_is_late(graph);
	}
}

/* ---- where it begins ----------------------------------------------------------------------------------------- */

struct modules {
	struct object_graph *graph;
	bool main; /* wanted: `__main__`, else all others */
	bool mark; /* only keeps their globals from being found through a function */
	uint32_t marked;
};

static bool visit_module(void *context, uint64_t key, uint64_t value)
{
	struct modules *modules = context;
	struct object_graph *graph = modules->graph;
	const struct object_type *type;

	if (modules->mark) {
		uint64_t dict = python_module_dict(&graph->reader, value);

		mark_seen(graph, value, NODE_NONE);
		if (dict)
			mark_seen(graph, dict, NODE_NONE);
		return ++modules->marked < graph->most / 4;
	}
	if (python_is_str(&graph->reader, key, "__main__") != modules->main)
		return true;
	type = object_type_of(&graph->types, value);
	if (type && type->kind == OBJECT_MODULE)
		add_node(graph, (struct object_node){.object = value,
						     .name = key,
						     .parent = NODE_NONE,
						     .type = (uint32_t)(type - graph->types.all.items),
						     .edge = EDGE_MODULE});
	return !graph->cut;
}

static void each_module(struct object_graph *graph, bool main, bool mark)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t interpreter = read_word(graph, graph->look->info.walk.runtime + layout->runtime_interpreters_head);
	struct modules modules = {.graph = graph, .main = main, .mark = mark};

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		python_dict_each(&graph->reader, read_word(graph, interpreter + layout->interp_modules), visit_module,
				 &modules);
		interpreter = read_word(graph, interpreter + layout->interp_next);
	}
}

void object_graph_read(struct object_graph *graph, unsigned threads)
{
	each_module(graph, false, true);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned k = 0; k < graph->look->stacks[i].count; k++)
			push_frame(graph, graph->look->stacks[i].frames[k].frame, NODE_NONE);
	each_module(graph, true, false);
	object_graph_follow(graph);
	each_module(graph, false, false);
	object_graph_follow(graph);
}
