/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * References of C types that are not known are the words in them that are addresses of objects.
 */
#include "dump/objects/object_references.h"

#include <string.h>

#include "dump/process/memory.h"

#define WINDOW 128u
#define LOCALS_MAX 1024u
#define SCANNED_MAX 1024u /* bytes of an object of an unknown type */
#define TRIES 3u	  /* to read a container between two changes of it */
#define HEAD_WORDS 5u	  /* of a container: its type, and where its elements are */

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

static uint64_t read_word(const struct object_graph *graph, uint64_t address)
{
	return python_read_word(&graph->reader, address);
}

struct visit {
	struct object_graph *graph;
	uint32_t parent;
	enum object_edge edge;
};

static bool visit_entry(void *context, uint64_t key, uint64_t value)
{
	struct visit *visit = context;

	if (object_graph_is_late_by_now(visit->graph))
		return false;
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

	count = count < OBJECT_ITEMS_MAX ? count : OBJECT_ITEMS_MAX;
	for (uint64_t i = 0; i < count && !graph->cut; i += WINDOW) {
		uint64_t some = count - i < WINDOW ? count - i : WINDOW;

		if (!python_read(&graph->reader, items + i * 8, window, some * 8) || object_graph_is_late(graph))
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

	for (uint64_t i = 0; i < count && i < OBJECT_ITEMS_MAX && block && index < DEQUE_BLOCK && !graph->cut; i++) {
		if (!index && object_graph_is_late(graph))
			return;
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

void object_references_of_frame(struct object_graph *graph, uint64_t frame, uint32_t parent)
{
	uint64_t code = frame ? read_word(graph, frame + graph->reader.layout->frame_code) & ~TAGS : 0;
	const struct object_type *type = object_type_of(&graph->types, code);
	uint32_t index;

	if (!type || strcmp(type->name, "code") != 0)
		return;
	index = object_graph_add_node(graph,
				      (struct object_node){.object = code, .parent = parent, .edge = EDGE_FRAME});
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
	object_references_of_frame(graph, frame, parent);
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

/* What changes in it when elements come, go or move, but for its reference count. */
static void read_head(struct object_graph *graph, uint64_t object, uint64_t head[HEAD_WORDS])
{
	for (uint32_t words = HEAD_WORDS; words && !python_read(&graph->reader, object + 8, head, 8ul * words);)
		words--; /* the object may be the last one before memory that cannot be read */
}

static bool holds_back_tensors(const struct object_graph *graph)
{
	return any_of(graph->held_back.count, i,
		      graph->types.all.items[graph->held_back.items[i].type].kind == OBJECT_TENSOR);
}

/* Reads it as it is now, between two equal heads; false: it changes all the time. */
static bool read_standing(struct object_graph *graph, uint32_t index, const struct object_type *type)
{
	uint64_t object = graph->nodes[index].object, before[HEAD_WORDS] = {0}, after[HEAD_WORDS] = {0};
	bool stands = false;

	memory_read_now(true);
	for (unsigned i = 0; i < TRIES && !stands; i++) {
		graph->held_back.count = 0;
		read_head(graph, object, before);
		push_container(graph, index, type);
		read_head(graph, object, after);
		stands = !memcmp(before, after, sizeof(before));
	}
	memory_read_now(false);
	return stands;
}

/*
 * The pages of a container are read at different moments: if the program has changed it between them, what looks like
 * its elements may be another object's.  So one that seems to have tensors is read again, in one go.
 */
static void read_container(struct object_graph *graph, uint32_t index, const struct object_type *type)
{
	graph->holds_back = true;
	graph->held_back.count = 0;
	push_container(graph, index, type);
	if (holds_back_tensors(graph) && !read_standing(graph, index, type) && !graph->takes_changing) {
		graph->held_back.count = 0;
		array_push(&graph->changing, index);
	}
	graph->holds_back = false;
	for (size_t i = 0; i < graph->held_back.count && !graph->cut; i++)
		object_graph_add_reference(graph, graph->held_back.items[i]);
}

void object_references_read(struct object_graph *graph, uint32_t index)
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
		read_container(graph, index, &type);
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
		object_references_of_frame(graph,
					   graph->reader.layout->walk == GPT_PY_WALK_OBJECTS
						   ? object
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
