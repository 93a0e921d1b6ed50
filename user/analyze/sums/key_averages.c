/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/key_averages.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/sums/flops.h"
#include "model/op_inputs.h"
#include "base/order.h"

#define HOW_NAMED 0u /* in place of how: the work has a name */

/* An event, for the row that it belongs to. */
struct key_event {
	uint64_t start_ns, end_ns;
	bool inside, async;
};

static void add_node(void *context, const struct op_node *node);

void key_averages_init(struct key_averages *keys, const struct model *first, const struct key_grouping *grouping)
{
	*keys = (struct key_averages){.grouping = *grouping};
	op_tree_init(&keys->tree, first, add_node, keys);
}

static void free_shapes(struct string_pool *shapes)
{
	string_pool_close(shapes);
	array_free(&shapes->strings);
	string_blocks_free(shapes->blocks);
}

void key_averages_free(struct key_averages *keys)
{
	op_tree_free(&keys->tree);
	tally_free(&keys->keys);
	tally_free(&keys->chains);
	tally_free(&keys->inputs);
	free_shapes(&keys->shapes);
	for (size_t i = 0; i < keys->rows.count; i++)
		free(keys->rows.items[i].name);
	array_free(&keys->rows);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static bool came_before(const struct key_event *event, const struct key_row *row)
{
	if (event->start_ns != row->first_ns)
		return event->start_ns < row->first_ns;
	return event->end_ns > row->first_end;
}

static struct key_row *count_in(struct key_averages *keys, struct tally_key key, const struct key_event *event)
{
	size_t known = keys->rows.count;
	size_t index = tally_number(&keys->keys, key);
	struct key_row *row;

	if (index == known)
		array_push(&keys->rows, ((struct key_row){.kind = (enum key_kind)key.part[1], .stack = key.part[3]}));
	row = &keys->rows.items[index];
	if (!row->count++ || came_before(event, row)) {
		row->first_ns = event->start_ns;
		row->first_end = event->end_ns;
		row->inside = event->inside;
		row->async = event->async;
	}
	return row;
}

/* ---- ops -------------------------------------------------------------------------------------------------------- */

/* The innermost lines of a stack, as a chain; equal lines share a chain. */
static uint32_t chain_of(struct key_averages *keys, uint32_t index)
{
	const struct model *model = keys->tree.model;
	const struct model_stack *stack = index == NONE ? NULL : &model->stacks[index];
	uint32_t depth = stack ? stack->depth : 0, chain = 0;

	if (depth > keys->grouping.stack_frames)
		depth = keys->grouping.stack_frames;
	while (depth-- > 0) {
		struct tally_key key = {{model->stack_frames[stack->first + depth], chain}};

		chain = tally_number(&keys->chains, key) + 1;
	}
	return chain;
}

/* As PyTorch's table prints them: a list of tensors is "[]". */
static uint32_t intern_shapes(struct key_averages *keys, const struct op_inputs_part_text *dims)
{
	AUTO_FREE char *text = xmalloc(dims->size);
	bool of_list = false;
	unsigned depth = 0;
	size_t size = 0;

	for (size_t i = 0; i < dims->size; i++) {
		depth += dims->text[i] == '[';
		depth -= dims->text[i] == ']';
		of_list |= depth > 2;
		of_list &= depth > 1;
		if (!of_list)
			text[size++] = dims->text[i];
	}
	return string_intern(&keys->shapes, text, size);
}

/* 1 + index in shapes; 0: the inputs were not recorded, or are malformed. */
static uint32_t shapes_of(struct key_averages *keys, uint32_t inputs)
{
	size_t known = keys->inputs.count;
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];
	struct tally_entry *entry;
	const char *text;

	if (inputs == NONE)
		return 0;
	entry = tally_at(&keys->inputs, (struct tally_key){{inputs}});
	text = keys->tree.model->strings[inputs];
	if (keys->inputs.count > known && op_inputs_split(text, strlen(text), parts))
		entry->more = 1 + intern_shapes(keys, &parts[OP_INPUTS_DIMS]);
	return (uint32_t)entry->more;
}

static uint64_t flops_of(const struct model *model, const struct op_node *node)
{
	if (node->inputs == NONE || node->name >= OP_NAME_STEPS)
		return 0;
	return op_flops(model->strings[node->name], model->strings[node->inputs]);
}

static void add_node(void *context, const struct op_node *node)
{
	struct key_averages *keys = context;
	uint32_t shapes = keys->grouping.by_shape ? shapes_of(keys, node->inputs) : 0;
	uint32_t stack = chain_of(keys, node->stack);
	struct key_event event = {node->start_ns, node->end_ns, node->inside, node->async};
	struct key_row *row;

	row = count_in(keys, (struct tally_key){{node->name, node->annotated ? KEY_ANNOTATION : KEY_OP, shapes, stack}},
		       &event);
	row->flops += flops_of(keys->tree.model, node);
	keys->has_inputs |= node->inputs != NONE;
	row->cpu_ns += op_node_cpu_ns(node);
	row->cpu_self_ns += op_node_self_ns(node);
	row->gpu_self_ns += node->gpu_self_ns;
	row->gpu_ns += node->gpu_ns;
	op_memory_add(&row->memory, node->memory);
	if (!node->async)
		op_memory_add(&row->memory_self, op_node_self_memory(node));
	array_each (span, &node->spans.list) {
		event = (struct key_event){.start_ns = span->start_ns, .end_ns = span->end_ns};
		row = count_in(keys, (struct tally_key){{node->name, KEY_ON_GPU}}, &event);
		row->gpu_self_ns += span->end_ns - span->start_ns;
		row->gpu_ns += span->end_ns - span->start_ns;
	}
}

void key_averages_add_op(struct key_averages *keys, const struct op_event *event)
{
	op_tree_add_op(&keys->tree, event);
}

/* ---- calls, work ------------------------------------------------------------------------------------------------ */

void key_averages_add_call(struct key_averages *keys, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct key_event came = {call->start_ns, call->end_ns > call->start_ns ? call->end_ns : call->start_ns,
				 .inside = op_tree_add_call(&keys->tree, event)};
	struct key_row *row = count_in(keys, (struct tally_key){{call->api, KEY_CALL}}, &came);

	row->cpu_ns += came.end_ns - came.start_ns;
	row->cpu_self_ns += came.end_ns - came.start_ns;
}

void key_averages_add_gpu(struct key_averages *keys, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint32_t how = (uint32_t)op->kind << 24 | (uint32_t)op->memcpy_kind << 16 | (uint32_t)op->from << 8 | op->to;
	uint32_t name = op->kind == MODEL_KERNEL ? op->name : NONE;
	struct key_event came = {op->start_ns, op->end_ns, .inside = false};
	struct key_row *row;

	row = count_in(keys, (struct tally_key){{name, KEY_GPU, name == NONE ? how : HOW_NAMED}}, &came);
	row->gpu_self_ns += gpu_ns(op);
	row->gpu_ns += gpu_ns(op);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* PyTorch's tables have a row for memory outside of ops, and one for each time that there was not enough. */
void key_averages_add_memory(struct key_averages *keys, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	bool out = memory->kind == GPT_AGENT_TORCH_MEMORY_OUT;
	struct key_event came = {memory->time_ns, memory->time_ns, false, false};
	struct op_memory bytes = {0};
	struct key_row *row;

	keys->has_memory = true;
	if (memory->device_type == GPT_TORCH_CPU)
		bytes.cpu = (uint64_t)memory->bytes;
	if (memory->device_type == GPT_TORCH_CUDA)
		bytes.gpu = (uint64_t)memory->bytes;
	if (!memory->bytes || (!out && op_tree_add_memory(&keys->tree, event, bytes)))
		return;
	row = count_in(keys, (struct tally_key){{out, KEY_MEMORY}}, &came);
	op_memory_add(&row->memory, bytes);
	op_memory_add(&row->memory_self, bytes);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static char *op_name(const struct model *model, uint32_t name)
{
	if (name == OP_NAME_STEPS)
		return xstrdup("ProfilerStep*");
	return xstrdup(name == NONE ? "(name not known)" : model->strings[name]);
}

static char *work_name(const struct model *model, const struct tally_key *key)
{
	uint32_t how = key->part[2];
	struct model_gpu op = {.name = key->part[0],
			       .kind = (uint8_t)(how >> 24),
			       .memcpy_kind = (uint8_t)(how >> 16),
			       .from = (uint8_t)(how >> 8),
			       .to = (uint8_t)how};
	char text[256];

	return xstrdup(gpu_name(model, &op, text, sizeof(text)));
}

static char *name_of(const struct model *model, const struct tally_key *key)
{
	switch ((enum key_kind)key->part[1]) {
	case KEY_CALL:
		return xstrdup(api_name((uint16_t)key->part[0]));
	case KEY_GPU:
		return work_name(model, key);
	case KEY_MEMORY:
		return xstrdup(key->part[0] ? "[OutOfMemory]" : "[memory]");
	case KEY_OP:
	case KEY_ANNOTATION:
	case KEY_ON_GPU:
		break;
	}
	return op_name(model, key->part[0]);
}

/* PyTorch's table has "[]" for an op without inputs, and for all that is no op. */
static const char *shapes_text(const struct key_averages *keys, const struct tally_key *key)
{
	bool of_op = key->part[1] == KEY_OP || key->part[1] == KEY_ANNOTATION;

	if (!keys->grouping.by_shape || !keys->has_inputs)
		return NULL;
	return of_op && key->part[2] ? string_at(&keys->shapes, key->part[2] - 1) : "[]";
}

DEFINE_ORDER(by_first, struct key_row,
	     least_first(a->first_ns, b->first_ns) ?: most_first(a->first_end, b->first_end) ?:
	     least_first(a->kind, b->kind) ?: strcmp(a->name, b->name))

void key_averages_finish(struct key_averages *keys)
{
	op_tree_finish(&keys->tree);
	for (size_t i = 0; i < keys->rows.count; i++) {
		struct key_row *row = &keys->rows.items[i];

		row->name = name_of(keys->tree.model, &keys->keys.entries[i].key);
		row->shapes = shapes_text(keys, &keys->keys.entries[i].key);
		keys->cpu_self_ns += row->cpu_self_ns;
		keys->gpu_ns += row->kind == KEY_GPU ? row->gpu_ns : 0;
	}
	array_sort(&keys->rows, by_first);
}

size_t key_row_frames(const struct key_averages *keys, const struct key_row *row, uint32_t frames[], size_t most)
{
	size_t count = 0;

	for (uint32_t chain = row->stack; chain; count++) {
		const struct tally_key *key = &keys->chains.entries[chain - 1].key;

		if (count < most)
			frames[count] = key->part[0];
		chain = key->part[1];
	}
	return count;
}
