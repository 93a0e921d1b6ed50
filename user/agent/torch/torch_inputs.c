/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Checks whether inputs of ops are laid out as in the headers. A tensor without memory, made by PyTorch, must have the
 * requested values where the layout says; PyTorch must accept a list made by the layout. Even with a wrong layout
 * PyTorch follows no invalid pointer: the rest of such a list is filled with valid ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/old_glibc.h"
#include "agent/torch/torch.h"

#define LIST_ROOM 32u /* words of a list of any version */
#define VALUE_ROOM 4u /* words of a value */

/* c10::ArrayRef */
struct array {
	const int64_t *first;
	size_t count;
};

struct functions {
	uint8_t *(*type_datas)(void);
	void *(*empty_meta)(void **tensor, struct array sizes, struct array strides, int8_t type);
	void *const *(*tensor_type)(void); /* returns the address of a shared pointer to it */
	void *(*int_type)(void);
	const void *undefined; /* the undefined tensor */
	bool (*is_tensor_list)(const void *value);
	bool (*lists_are_equal)(const void *one, const void *other);
	bool (*values_are_equal)(const void *one, const void *other);
};

static bool find_functions(const struct torch *torch, struct functions *functions)
{
	const struct torch_symbol wanted[] = {
		{&functions->type_datas, "_ZN6caffe28TypeMeta13typeMetaDatasEv"},
		{&functions->empty_meta, "_ZN2at6detail18empty_strided_metaEN3c108ArrayRefIlEES3_NS1_10ScalarTypeE"},
		{&functions->undefined, "_ZN3c1019UndefinedTensorImpl10_singletonE"},
		{&functions->tensor_type, "_ZN3c1010TensorType3getEv"},
		{&functions->int_type, "_ZN3c107IntType3getEv"},
		{&functions->is_tensor_list, "_ZNK3c106IValue12isTensorListEv"},
		{&functions->lists_are_equal, "_ZN3c106detaileqERKNS0_8ListImplES3_"},
		{&functions->values_are_equal, "_ZN3c10eqERKNS_6IValueES2_"},
	};

	return torch_find(torch, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

/* ---- types ------------------------------------------------------------------------------------- */

static bool is_called(const struct op_input_types *types, unsigned type, const char *name)
{
	return types->name[type].text && types->name[type].bytes == strlen(name) &&
	       !memcmp(types->name[type].text, name, strlen(name));
}

/* The names of dtypes are constants of libc10, which `torch` keeps loaded. */
static bool find_types(struct torch *torch, const struct functions *functions)
{
	const struct torch_layout *layout = torch->layout;
	const uint8_t *data = functions->type_datas();
	size_t type, bytes;

	if (layout->types > OP_INPUTS_TYPES)
		return false;
	for (type = 0; type < layout->types; type++, data += layout->type_bytes) {
		memcpy(&bytes, data + layout->type_name_bytes, sizeof(bytes));
		memcpy(&torch->types.name[type].text, data + layout->type_name, sizeof(torch->types.name[type].text));
		torch->types.name[type].bytes = bytes < 128 ? (uint32_t)bytes : 0;
	}
	return is_called(&torch->types, layout->type_float, "float");
}

/* ---- values ------------------------------------------------------------------------------------ */

static void make_value(const struct torch_layout *layout, uint8_t *value, uint32_t tag, uint64_t payload)
{
	memset(value, 0, layout->value_bytes);
	memcpy(value + layout->value_payload, &payload, sizeof(payload));
	memcpy(value + layout->value_tag, &tag, sizeof(tag));
}

/* Runs op_inputs_take on an op with one input. */
static uint32_t take_one_input(const struct torch_layout *layout, const uint8_t *value, uint64_t *words)
{
	uint64_t op[128] = {0};

	op[layout->op_inputs / 8] = (uint64_t)(uintptr_t)value;
	op[layout->op_inputs / 8 + 1] = 1;
	return op_inputs_take(layout, op, words);
}

/* Compares as integers, as a NaN is then equal to itself. */
static bool numbers_are_right(const struct torch *torch, const struct functions *functions)
{
	const struct torch_layout *layout = torch->layout;
	const uint64_t not_a_number = 0x7ff8000000000000;
	uint64_t integer[VALUE_ROOM], real[VALUE_ROOM];

	make_value(layout, (uint8_t *)integer, layout->tag_int, not_a_number);
	make_value(layout, (uint8_t *)real, layout->tag_double, not_a_number);
	return functions->values_are_equal(integer, integer) && !functions->values_are_equal(real, real);
}

/* ---- tensors ----------------------------------------------------------------------------------- */

/*
 * Makes a PyTorch tensor without memory. It is never freed, which only C++ could do: one of each kind stays for the
 * agent's life.
 */
static const void *make_tensor(const struct functions *functions, void **kept, struct array sizes, struct array strides,
			       int8_t type)
{
	if (!*kept)
		functions->empty_meta(kept, sizes, strides, type);
	return *kept;
}

static bool is_taken_as(const struct torch_layout *layout, const void *tensor, unsigned type, struct array sizes,
			struct array strides)
{
	uint64_t value[VALUE_ROOM], words[OP_INPUTS_WORDS];
	uint64_t head = OP_INPUT_TENSOR | 1 << 8 | (uint64_t)type << 16 | (uint64_t)sizes.count << 32;

	make_value(layout, (uint8_t *)value, layout->tag_tensor, (uintptr_t)tensor);
	return take_one_input(layout, (uint8_t *)value, words) == 1 + 2 * sizes.count && words[0] == head &&
	       !memcmp(words + 1, sizes.first, 8 * sizes.count) &&
	       !memcmp(words + 1 + sizes.count, strides.first, 8 * sizes.count);
}

static bool is_taken_as_none(const struct torch_layout *layout, const void *tensor)
{
	uint64_t value[VALUE_ROOM], words[OP_INPUTS_WORDS];

	make_value(layout, (uint8_t *)value, layout->tag_tensor, (uintptr_t)tensor);
	return take_one_input(layout, (uint8_t *)value, words) == 1 && words[0] == OP_INPUT_OTHER;
}

/* Checks a tensor with inline sizes, and one with more dimensions. */
static bool tensors_are_right(const struct torch *torch, const struct functions *functions)
{
	static const int64_t sizes[] = {3, 5, 2, 7, 4, 6}, strides[] = {9001, 811, 401, 57, 13, 2};
	static void *small, *large;
	const struct torch_layout *layout = torch->layout;
	const struct array few = {sizes, 2}, few_strides = {strides, 2}, many = {sizes, 6}, many_strides = {strides, 6};

	return is_taken_as(layout, make_tensor(functions, &small, few, few_strides, (int8_t)layout->type_float),
			   layout->type_float, few, few_strides) &&
	       is_taken_as(layout, make_tensor(functions, &large, many, many_strides, (int8_t)layout->type_long),
			   layout->type_long, many, many_strides) &&
	       is_taken_as_none(layout, functions->undefined);
}

/* ---- lists ------------------------------------------------------------------------------------- */

static void make_list(const struct torch_layout *layout, uint64_t *list, const void *elsewhere, const void *type,
		      const uint64_t *values, uint64_t count)
{
	uint64_t end = (uint64_t)(uintptr_t)values + count * layout->value_bytes;
	size_t i;

	for (i = 0; i < LIST_ROOM; i++)
		list[i] = (uint64_t)(uintptr_t)elsewhere;
	list[layout->list_values / 8] = (uint64_t)(uintptr_t)values;
	list[layout->list_values / 8 + 1] = list[layout->list_values / 8 + 2] = end;
	list[layout->list_type / 8] = (uint64_t)(uintptr_t)type;
}

static bool is_list_of_tensors(const struct torch *torch, const struct functions *functions, uint64_t *list)
{
	uint64_t value[VALUE_ROOM];

	make_value(torch->layout, (uint8_t *)value, torch->layout->tag_list, (uintptr_t)list);
	return functions->is_tensor_list(value);
}

static bool lists_are_right(const struct torch *torch, const struct functions *functions)
{
	const struct torch_layout *layout = torch->layout;
	uint64_t list[LIST_ROOM], other[LIST_ROOM], value[VALUE_ROOM], words[OP_INPUTS_WORDS];
	uint64_t seven[2 * VALUE_ROOM], eight[2 * VALUE_ROOM];
	const void *tensors = *functions->tensor_type(), *ints = functions->int_type();

	/* how PyTorch finds the type */
	make_list(layout, list, ints, tensors, seven, 0);
	make_list(layout, other, tensors, ints, seven, 0);
	if (!is_list_of_tensors(torch, functions, list) || is_list_of_tensors(torch, functions, other))
		return false;
	/* and the elements */
	make_value(layout, (uint8_t *)seven, layout->tag_int, 7);
	make_value(layout, (uint8_t *)eight, layout->tag_int, 8);
	make_list(layout, list, ints, ints, seven, 1);
	make_list(layout, other, ints, ints, eight, 1);
	if (!functions->lists_are_equal(list, list) || functions->lists_are_equal(list, other))
		return false;
	make_value(layout, (uint8_t *)value, layout->tag_list, (uintptr_t)list);
	if (take_one_input(layout, (uint8_t *)value, words) != 3 || words[0] != (OP_INPUT_SCALARS | 1ull << 32) ||
	    words[2] != 7)
		return false;
	make_list(layout, list, ints, tensors, seven, 0);
	return take_one_input(layout, (uint8_t *)value, words) == 1 && words[0] == OP_INPUT_TENSORS;
}

/* ------------------------------------------------------------------------------------------------ */

bool torch_inputs_check(struct torch *torch, char *why, size_t why_size)
{
	struct functions functions;
	char name[48];

	torch_name(torch, name, sizeof(name));
	if (!find_functions(torch, &functions)) {
		snprintf(why, why_size, "no inputs of ops: %s has not all functions that say how it keeps them", name);
		return false;
	}
	if (find_types(torch, &functions) && numbers_are_right(torch, &functions) &&
	    tensors_are_right(torch, &functions) && lists_are_right(torch, &functions))
		return true;
	snprintf(why, why_size, "no inputs of ops: those of %s are not laid out as in its headers", name);
	return false;
}
