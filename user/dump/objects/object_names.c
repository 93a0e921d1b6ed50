/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/objects/object_names.h"

#include <string.h>

#define NAME_CHARS 64u
#define PATH_EDGES 16u	 /* shown of a path: the outer ones, then the slot */
#define PARENTS_MAX 4096 /* looked at: a longer way has no slot near */
/* PyFunctionObject.func_code, 3.10 and later; earlier ones have no closure variables here */
#define FUNCTION_CODE 48u
/* PySetObject.used, PyDequeObject's and PyDictObject's counts */
#define SET_USED 24u
#define DICT_USED 16u

static const struct object_type *type_at(struct object_graph *graph, uint32_t node)
{
	return &graph->types.all.items[graph->nodes[node].type];
}

static void put_text(text_buffer *out, const char *text)
{
	text_append(out, text, strlen(text));
}

/* Appends a str of the process, cut; false: it cannot be read. */
static bool put_str(struct object_graph *graph, text_buffer *out, uint64_t object)
{
	uint8_t bytes[4 * NAME_CHARS];
	struct python_str str;
	uint64_t length;

	if (!object || !python_read_str(&graph->reader, object, &str))
		return false;
	length = str.length < NAME_CHARS ? str.length : NAME_CHARS;
	if (length && !python_read(&graph->reader, str.data, bytes, length * str.kind))
		return false;
	safe_text_append_kind(out, bytes, length * str.kind, str.kind);
	if (length < str.length)
		put_text(out, "...");
	return true;
}

static bool put_chars(struct object_graph *graph, text_buffer *out, uint64_t address)
{
	char bytes[NAME_CHARS + 1] = "";

	for (size_t size = NAME_CHARS; size; size /= 2)
		if (python_read(&graph->reader, address, bytes, size))
			break;
	safe_text_append_utf8(out, bytes, strlen(bytes));
	return *bytes;
}

static void put_name(struct object_graph *graph, text_buffer *out, uint32_t index)
{
	const struct object_node *node = &graph->nodes[index];

	if (!(node->edge == EDGE_MEMBER ? put_chars(graph, out, node->name) : put_str(graph, out, node->name)))
		put_text(out, "?");
}

static void put_type(text_buffer *out, const struct object_type *type)
{
	safe_text_append_utf8(out, type->name, strlen(type->name));
}

static void put_function(struct object_graph *graph, text_buffer *out, uint64_t code)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	unsigned at = layout->code_qualname != GPT_PY_ABSENT ? layout->code_qualname : layout->code_name;

	if (!put_str(graph, out, python_read_word(&graph->reader, code + at)))
		put_text(out, "?");
}

/* The name of a module that is in sys.modules, or what stands for one. */
static void put_module(struct object_graph *graph, text_buffer *out, uint32_t index)
{
	if (graph->nodes[index].edge == EDGE_MODULE)
		put_name(graph, out, index);
	else
		put_text(out, "module");
}

/* PyTorch's modules keep these in dictionaries of their own, and show them as attributes (torch/nn/modules). */
static bool is_of_torch_module(struct object_graph *graph, uint32_t index)
{
	static const char *const dicts[] = {"_parameters", "_buffers", "_modules"};
	uint32_t dict = graph->nodes[index].parent;

	if (graph->nodes[index].edge != EDGE_KEY || dict == NODE_NONE || graph->nodes[dict].edge != EDGE_ATTRIBUTE)
		return false;
	return any_of(sizeof(dicts) / sizeof(*dicts), i,
		      python_is_str(&graph->reader, graph->nodes[dict].name, dicts[i]));
}

static bool is_slot(struct object_graph *graph, uint32_t index)
{
	switch (graph->nodes[index].edge) {
	case EDGE_MODULE:
	case EDGE_FRAME:
	case EDGE_CLASS:
	case EDGE_GLOBAL:
	case EDGE_LOCAL:
	case EDGE_CLOSURE:
	case EDGE_ATTRIBUTE:
	case EDGE_MEMBER:
	case EDGE_UNREACHED:
		return true;
	case EDGE_KEY:
		return is_of_torch_module(graph, index);
	default:
		return false;
	}
}

uint32_t object_slot(struct object_graph *graph, uint32_t node)
{
	for (int i = 0; i < PARENTS_MAX && graph->nodes[node].parent != NODE_NONE && !is_slot(graph, node); i++)
		node = graph->nodes[node].parent;
	return node;
}

/* The object whose attribute it is. */
static uint32_t holder_of(struct object_graph *graph, uint32_t slot)
{
	uint32_t parent = graph->nodes[slot].parent;

	return graph->nodes[slot].edge == EDGE_KEY ? graph->nodes[parent].parent : parent;
}

static void put_place(struct object_graph *graph, text_buffer *out, uint32_t slot)
{
	const struct object_node *node = &graph->nodes[slot];
	uint32_t holder = holder_of(graph, slot);

	switch (node->edge) {
	case EDGE_LOCAL:
		put_text(out, "local ");
		put_name(graph, out, slot);
		put_text(out, " of ");
		put_function(graph, out, graph->nodes[holder].object);
		return;
	case EDGE_CLOSURE:
		put_text(out, "closure ");
		if (node->name)
			put_name(graph, out, slot);
		put_text(out, node->name ? " of " : "of ");
		put_function(graph, out, python_read_word(&graph->reader, graph->nodes[holder].object + FUNCTION_CODE));
		return;
	case EDGE_GLOBAL:
		put_module(graph, out, holder);
		break;
	case EDGE_MODULE:
		put_module(graph, out, slot);
		return;
	case EDGE_CLASS:
	case EDGE_UNREACHED:
		put_type(out, type_at(graph, slot));
		return;
	default:
		if (holder == NODE_NONE)
			return;
		if (type_at(graph, holder)->kind == OBJECT_TYPE) {
			const struct object_type *type = object_type(&graph->types, graph->nodes[holder].object);

			if (type)
				put_type(out, type);
		} else if (type_at(graph, holder)->kind == OBJECT_MODULE) {
			put_module(graph, out, holder);
		} else {
			put_type(out, type_at(graph, holder));
		}
	}
	put_text(out, ".");
	put_name(graph, out, slot);
}

static void put_step(struct object_graph *graph, text_buffer *out, uint32_t index, bool first)
{
	const struct object_node *node = &graph->nodes[index];

	switch (node->edge) {
	case EDGE_MODULE:
		put_name(graph, out, index);
		return;
	case EDGE_FRAME:
		if (first)
			return;
		put_text(out, " in ");
		put_function(graph, out, node->object);
		return;
	case EDGE_LOCAL:
	case EDGE_CLOSURE:
		put_text(out, first || !out->count ? "" : ": ");
		put_place(graph, out, index);
		return;
	case EDGE_CLASS:
		put_text(out, ".__class__");
		return;
	case EDGE_GLOBAL:
	case EDGE_ATTRIBUTE:
	case EDGE_MEMBER:
		put_text(out, ".");
		put_name(graph, out, index);
		return;
	case EDGE_KEY:
		put_text(out, "[");
		if (!put_str(graph, out, node->name))
			put_text(out, "...");
		put_text(out, "]");
		return;
	case EDGE_ITEM:
		put_text(out, "[...]");
		return;
	case EDGE_UNREACHED:
		put_text(out, "no variable: ");
		put_place(graph, out, index);
		return;
	case EDGE_OTHER:
		return;
	}
}

static void put_path(struct object_graph *graph, text_buffer *out, uint32_t slot)
{
	uint32_t way[PATH_EDGES], count = 0, left = 0;

	for (uint32_t at = slot, i = 0; at != NODE_NONE && i < PARENTS_MAX; at = graph->nodes[at].parent, i++) {
		if (count == PATH_EDGES) { /* the slot stays, and what is nearest to the root */
			memmove(way + 1, way + 2, (PATH_EDGES - 2) * sizeof(*way));
			count--;
			left++;
		}
		way[count++] = at;
	}
	for (uint32_t i = count; i-- > 0;) {
		put_step(graph, out, way[i], i + 1 == count);
		if (left && i == 1)
			put_text(out, "...");
	}
}

static uint64_t count_items(struct object_graph *graph, uint32_t node)
{
	const struct gpt_pylayout *layout = graph->reader.layout;
	uint64_t object = graph->nodes[node].object;

	switch (type_at(graph, node)->kind) {
	case OBJECT_LIST:
	case OBJECT_TUPLE:
	case OBJECT_DEQUE:
		return python_read_word(&graph->reader, object + layout->var_size);
	case OBJECT_DICT:
		return python_read_word(&graph->reader, object + DICT_USED);
	case OBJECT_SET:
		return python_read_word(&graph->reader, object + SET_USED);
	default:
		return UINT64_MAX;
	}
}

void object_name(struct object_graph *graph, uint32_t slot, const char *suffix, struct object_name *out)
{
	*out = (struct object_name){.slot = slot, .items = count_items(graph, slot)};
	put_place(graph, &out->place, slot);
	put_text(&out->place, suffix);
	put_path(graph, &out->path, slot);
	put_text(&out->path, suffix);
	if (type_at(graph, slot)->kind != OBJECT_TENSOR && graph->nodes[slot].edge != EDGE_FRAME)
		put_type(&out->type, type_at(graph, slot));
}
