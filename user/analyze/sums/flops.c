/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/flops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/op_inputs.h"

#define DIMS_MAX 8u

struct dims {
	uint64_t size[DIMS_MAX];
	unsigned count;
};

struct inputs {
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];
};

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

/* An element of an array that op_inputs_split accepted; false: the array has fewer. */
static bool take_element(const struct op_inputs_part_text *array, unsigned index, struct op_inputs_part_text *found)
{
	const char *at = array->text + 1, *end = array->text + array->size - 1;

	for (unsigned i = 0; at < end; i++) {
		unsigned depth = 0;
		bool quoted = false;

		at += *at == ' ';
		found->text = at;
		for (; at < end && (*at != ',' || depth || quoted); at++) {
			quoted ^= *at == '"';
			depth += !quoted && *at == '[';
			depth -= !quoted && *at == ']';
		}
		found->size = (size_t)(at - found->text);
		if (i == index)
			return true;
		at++;
	}
	return false;
}

/* Reads "[4, 8]" and nothing else, no list of tensors. */
static bool take_dims(const struct op_inputs_part_text *text, struct dims *dims)
{
	const char *at = text->text, *end = at + text->size;

	dims->count = 0;
	if (at == end || *at++ != '[')
		return false;
	while (at < end && *at != ']') {
		char *after;
		long long size = strtoll(at, &after, 10);

		if (after == at || size < 0 || dims->count == DIMS_MAX)
			return false;
		dims->size[dims->count++] = (uint64_t)size;
		at = after + (after < end && *after == ',');
		at += at < end && *at == ' ';
	}
	return at < end;
}

static bool take_tensor(const struct inputs *inputs, unsigned index, struct dims *dims)
{
	struct op_inputs_part_text text;

	return take_element(&inputs->parts[OP_INPUTS_DIMS], index, &text) && take_dims(&text, dims) && dims->count;
}

/* The text of an input that is no tensor. */
static bool take_concrete(const struct inputs *inputs, unsigned index, struct op_inputs_part_text *text)
{
	if (!take_element(&inputs->parts[OP_INPUTS_CONCRETE], index, text) || text->size < 2)
		return false;
	text->text++; /* skips the quotes */
	text->size -= 2;
	return text->size > 0;
}

static bool take_pair(const struct inputs *inputs, unsigned index, struct dims *dims)
{
	struct op_inputs_part_text text;

	return take_concrete(inputs, index, &text) && take_dims(&text, dims) && dims->count == 2;
}

/* ---- formulas --------------------------------------------------------------------------------------------------- */

/* 0 on overflow. */
static uint64_t multiply_sizes(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

static uint64_t count_elements(const struct dims *dims, unsigned from)
{
	uint64_t product = 1;

	for (unsigned i = from; i < dims->count; i++)
		product = multiply_sizes(product, dims->size[i]);
	return product;
}

static uint64_t count_elementwise(const struct inputs *inputs, unsigned first)
{
	struct dims dims;

	return take_tensor(inputs, first, &dims) ? count_elements(&dims, 0) : 0;
}

/* The product of two matrices, or of batches of them: the last dimension of the first is summed over. */
static uint64_t count_product(const struct inputs *inputs, unsigned first, bool batches)
{
	struct dims a, b;

	if (!take_tensor(inputs, first, &a) || !take_tensor(inputs, first + 1, &b) || !a.size[a.count - 1])
		return 0;
	a.count--;
	return multiply_sizes(2, multiply_sizes(count_elements(&a, 0), count_elements(&b, batches)));
}

static uint64_t count_matrices(const struct inputs *inputs, unsigned first)
{
	return count_product(inputs, first, false);
}

static uint64_t count_batches(const struct inputs *inputs, unsigned first)
{
	return count_product(inputs, first, true);
}

static uint64_t count_convolution(const struct inputs *inputs, unsigned first)
{
	struct dims input, kernel, stride, padding, dilation;
	struct op_inputs_part_text text;
	uint64_t groups, places = 1;

	if (!take_tensor(inputs, 0, &input) || !take_tensor(inputs, 1, &kernel) || input.count != 4 ||
	    kernel.count != 4 || !take_pair(inputs, 3, &stride) || !take_pair(inputs, 4, &padding) ||
	    !take_pair(inputs, 5, &dilation) || !take_concrete(inputs, 6, &text))
		return 0;
	groups = strtoull(text.text, NULL, 10);
	if (!groups || !stride.size[0] || !stride.size[1])
		return 0;
	for (int i = 0; i < 2; i++) {
		uint64_t wide = input.size[2 + i] + 2 * padding.size[i];
		uint64_t taken = multiply_sizes(dilation.size[i], kernel.size[2 + i] - 1) + 1;

		if (!kernel.size[2 + i] || wide < taken)
			return 0;
		places = multiply_sizes(places, (wide - taken) / stride.size[i] + 1);
	}
	return multiply_sizes(multiply_sizes(multiply_sizes(2, input.size[0]),
					     multiply_sizes(places, count_elements(&kernel, 2))),
			      multiply_sizes(input.size[1], kernel.size[0])) /
	       groups;
}

/* Two batched products: (b, h, query, d) x (b, h, key, d), then with the value, (b, h, key, d_v). */
static uint64_t count_attention(const struct inputs *inputs, unsigned first)
{
	struct dims query, key, value;
	uint64_t scores, sums;

	if (!take_tensor(inputs, 0, &query) || !take_tensor(inputs, 1, &key) || !take_tensor(inputs, 2, &value) ||
	    query.count != 4 || key.count != 4 || value.count != 4)
		return 0;
	scores = multiply_sizes(count_elements(&query, 0), key.size[2]);
	sums = multiply_sizes(multiply_sizes(multiply_sizes(query.size[0], query.size[1]),
					     multiply_sizes(query.size[2], key.size[2])),
			      value.size[3]);
	return multiply_sizes(2, scores) + multiply_sizes(2, sums);
}

static const struct formula {
	const char *name;
	uint64_t (*flops)(const struct inputs *inputs, unsigned first);
	unsigned first; /* index of the first input that it uses */
} formulas[] = {
	{"aten::conv2d", count_convolution, 0},
	{"aten::mm", count_matrices, 0},
	{"aten::addmm", count_matrices, 1},
	{"aten::bmm", count_batches, 0},
	{"aten::baddbmm", count_batches, 1},
	{"aten::mul", count_elementwise, 0},
	{"aten::add", count_elementwise, 0},
	{"aten::_scaled_dot_product_flash_attention", count_attention, 0},
	{"aten::_scaled_dot_product_flash_attention_for_cpu", count_attention, 0},
	{"aten::_scaled_dot_product_efficient_attention", count_attention, 0},
	{"aten::_scaled_dot_product_cudnn_attention", count_attention, 0},
};

uint64_t op_flops(const char *name, const char *text)
{
	struct inputs inputs;

	for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++)
		if (!strcmp(name, formulas[i].name))
			return op_inputs_split(text, strlen(text), inputs.parts)
				       ? formulas[i].flops(&inputs, formulas[i].first)
				       : 0;
	return 0;
}
