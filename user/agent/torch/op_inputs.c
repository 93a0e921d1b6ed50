/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads memory of PyTorch's objects by the layout of its version, which torch_inputs.c has checked. PyTorch's accessors
 * use virtual functions for tensors of some classes, which might run Python: these are not called.
 */
#include "agent/torch/op_inputs.h"

#include <stdbool.h>
#include <string.h>

struct taking {
	const struct torch_layout *layout;
	uint64_t *words;
	uint32_t count;
};

static uint64_t word_at(const void *object, unsigned offset)
{
	uint64_t value;

	memcpy(&value, (const char *)object + offset, sizeof(value));
	return value;
}

static const void *pointer_at(const void *object, unsigned offset)
{
	return (const void *)(uintptr_t)word_at(object, offset);
}

static uint32_t tag_of(const struct torch_layout *layout, const void *value)
{
	uint32_t tag;

	memcpy(&tag, (const char *)value + layout->value_tag, sizeof(tag));
	return tag;
}

/* Counts words without room, too, so that op_inputs_take can return that there were more. */
static void put_word(struct taking *taking, uint64_t word)
{
	if (taking->count < OP_INPUTS_WORDS)
		taking->words[taking->count] = word;
	taking->count++;
}

static void put_head(struct taking *taking, enum op_input_kind kind, unsigned detail, uint64_t count)
{
	put_word(taking, (uint64_t)kind | (uint64_t)detail << 8 | count << 32);
}

/* A loop: nearly always there are one to five words, for which memcpy takes several times as long. */
static void put_words(struct taking *taking, const uint64_t *from, uint64_t count)
{
	uint32_t at = taking->count;
	uint64_t i;

	if (at > OP_INPUTS_WORDS || count > OP_INPUTS_WORDS - at) {
		taking->count = OP_INPUTS_WORDS + 1;
		return;
	}
	for (i = 0; i < count; i++)
		taking->words[at + i] = from[i];
	taking->count += (uint32_t)count;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

static uint16_t type_of(const struct torch_layout *layout, const void *tensor)
{
	uint16_t type;

	memcpy(&type, (const char *)tensor + layout->tensor_type, sizeof(type));
	return type;
}

/* NULL: undefined, nested, or with symbolic sizes, for which Kineto reports nothing. */
static const void *tensor_of(const struct torch_layout *layout, const void *value)
{
	const void *tensor = pointer_at(value, layout->value_payload);

	if (!tensor || type_of(layout, tensor) == layout->type_undefined ||
	    word_at(tensor, layout->tensor_keys) & layout->keys_nested ||
	    *((const uint8_t *)tensor + layout->tensor_symbolic) & layout->symbolic_bit)
		return NULL;
	return tensor;
}

static void take_tensor(struct taking *taking, const void *tensor)
{
	const struct torch_layout *layout = taking->layout;
	uint64_t dims = word_at(tensor, layout->tensor_dims);
	bool strided = !(word_at(tensor, layout->tensor_keys) & layout->keys_unstrided);
	bool is_inline = dims <= layout->tensor_inline_dims;
	const uint64_t *sizes = (const uint64_t *)((const char *)tensor + layout->tensor_inline);

	if (dims > OP_INPUTS_WORDS || taking->count > OP_INPUTS_WORDS) {
		taking->count = OP_INPUTS_WORDS + 1;
		return;
	}
	if (!is_inline)
		sizes = pointer_at(sizes, 0);
	put_head(taking, OP_INPUT_TENSOR, (unsigned)type_of(layout, tensor) << 8 | strided, dims);
	put_words(taking, sizes, dims);
	if (strided && taking->count <= OP_INPUTS_WORDS)
		put_words(taking, sizes + (is_inline ? layout->tensor_inline_dims : dims), dims);
}

/* ---- scalars ----------------------------------------------------------------------------------- */

static enum op_scalar scalar_of(const struct torch_layout *layout, uint32_t tag)
{
	if (tag == layout->tag_int)
		return OP_SCALAR_INT;
	if (tag == layout->tag_double)
		return OP_SCALAR_DOUBLE;
	if (tag == layout->tag_bool)
		return OP_SCALAR_BOOL;
	if (tag == layout->tag_complex)
		return OP_SCALAR_COMPLEX;
	if (tag == layout->tag_symint || tag == layout->tag_symfloat || tag == layout->tag_symbool)
		return OP_SCALAR_SYMBOL;
	return 0;
}

static void take_scalar(struct taking *taking, const void *value, enum op_scalar scalar)
{
	const struct torch_layout *layout = taking->layout;
	const char *complex;

	put_head(taking, OP_INPUT_SCALAR, scalar, 0);
	switch (scalar) {
	case OP_SCALAR_INT:
	case OP_SCALAR_DOUBLE:
		put_word(taking, word_at(value, layout->value_payload));
		break;
	case OP_SCALAR_BOOL:
		put_word(taking, *((const uint8_t *)value + layout->value_payload) != 0);
		break;
	case OP_SCALAR_COMPLEX:
		complex = pointer_at(value, layout->value_payload);
		put_word(taking, complex ? word_at(complex, layout->complex_value) : 0);
		put_word(taking, complex ? word_at(complex, layout->complex_value + 8u) : 0);
		break;
	case OP_SCALAR_SYMBOL:
	case OP_SCALAR_NONE:
		put_word(taking, 0);
		break;
	}
}

/* ---- lists ------------------------------------------------------------------------------------- */

struct list {
	const char *first;
	uint64_t count;
	bool of_tensors;
};

/* False: not as the layout says. */
static bool list_of(const struct torch_layout *layout, const void *value, struct list *list)
{
	const void *object = pointer_at(value, layout->value_payload);
	const void *type = object ? pointer_at(object, layout->list_type) : NULL;
	uint64_t bytes;
	uint32_t kind;

	if (!type)
		return false;
	list->first = pointer_at(object, layout->list_values);
	bytes = word_at(object, layout->list_values + 8u) - (uint64_t)(uintptr_t)list->first;
	list->count = bytes / layout->value_bytes;
	memcpy(&kind, (const char *)type + layout->type_kind, sizeof(kind));
	list->of_tensors = kind == layout->kind_tensor;
	return bytes % layout->value_bytes == 0 && list->count <= UINT32_MAX;
}

/* One undefined tensor hides the others (as in Kineto). */
static bool has_only_tensors(const struct torch_layout *layout, const struct list *list)
{
	uint64_t i;

	for (i = 0; i < list->count; i++) {
		const char *value = list->first + i * layout->value_bytes;

		if (tag_of(layout, value) != layout->tag_tensor || !tensor_of(layout, value))
			return false;
	}
	return true;
}

static void take_tensors(struct taking *taking, const struct list *list)
{
	const struct torch_layout *layout = taking->layout;
	uint64_t i;

	if (!has_only_tensors(layout, list)) {
		put_head(taking, OP_INPUT_OTHER, 0, 0);
		return;
	}
	put_head(taking, OP_INPUT_TENSORS, 0, list->count);
	for (i = 0; i < list->count && list->count <= OP_INPUTS_LIST; i++)
		take_tensor(taking, tensor_of(layout, list->first + i * layout->value_bytes));
}

static void take_scalars(struct taking *taking, const struct list *list)
{
	const struct torch_layout *layout = taking->layout;
	uint32_t before = taking->count;
	uint64_t i;

	if (list->count > OP_INPUTS_LIST) {
		put_head(taking, OP_INPUT_OTHER, 0, 0);
		return;
	}
	put_head(taking, OP_INPUT_SCALARS, 0, list->count);
	for (i = 0; i < list->count; i++) {
		const char *value = list->first + i * layout->value_bytes;
		uint32_t tag = tag_of(layout, value);
		enum op_scalar scalar = i && tag == layout->tag_none ? OP_SCALAR_NONE : scalar_of(layout, tag);

		if (!scalar) { /* a list of something else */
			taking->count = before;
			put_head(taking, OP_INPUT_OTHER, 0, 0);
			return;
		}
		take_scalar(taking, value, scalar);
	}
}

static void take_list(struct taking *taking, const void *value)
{
	struct list list;

	if (!list_of(taking->layout, value, &list))
		put_head(taking, OP_INPUT_OTHER, 0, 0);
	else if (list.of_tensors)
		take_tensors(taking, &list);
	else
		take_scalars(taking, &list);
}

/* ------------------------------------------------------------------------------------------------ */

static void take_input(struct taking *taking, const void *value)
{
	const struct torch_layout *layout = taking->layout;
	uint32_t tag = tag_of(layout, value);
	enum op_scalar scalar;
	const void *tensor;

	if (tag == layout->tag_tensor) {
		tensor = tensor_of(layout, value);
		if (tensor)
			take_tensor(taking, tensor);
		else
			put_head(taking, OP_INPUT_OTHER, 0, 0);
		return;
	}
	if (tag == layout->tag_list) {
		take_list(taking, value);
		return;
	}
	scalar = scalar_of(layout, tag);
	if (scalar)
		take_scalar(taking, value, scalar);
	else
		put_head(taking, OP_INPUT_OTHER, 0, 0);
}

uint32_t op_inputs_take(const struct torch_layout *layout, const void *op, uint64_t words[OP_INPUTS_WORDS])
{
	struct taking taking = {.layout = layout, .words = words};
	const char *first = pointer_at(op, layout->op_inputs);
	uint64_t count = word_at(op, layout->op_inputs + 8u), i;

	if (!first)
		return 0;
	for (i = 0; i < count && taking.count <= OP_INPUTS_WORDS; i++)
		take_input(&taking, first + i * layout->value_bytes);
	return taking.count;
}
