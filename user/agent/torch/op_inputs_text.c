/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Words to text: four walks over them, one for each array. See op_inputs.h. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/torch/op_inputs.h"

/* As PyTorch prints numbers (ATen/core/ivalue.cpp): integers that fit into 64 bits with a trailing point, -0 as 0. */
#define WHOLE_BELOW 0x1p63

struct writing {
	const struct op_input_types *types;
	const uint64_t *word, *end;
	char *text;
	size_t size, used;
	bool wrong; /* no room, or no inputs */
};

static void write_bytes(struct writing *writing, const char *text, size_t bytes)
{
	if (bytes > writing->size - writing->used) {
		writing->wrong = true;
		return;
	}
	memcpy(writing->text + writing->used, text, bytes);
	writing->used += bytes;
}

static void write_text(struct writing *writing, const char *text)
{
	write_bytes(writing, text, strlen(text));
}

static uint64_t next_word(struct writing *writing)
{
	if (writing->word == writing->end) {
		writing->wrong = true;
		return 0;
	}
	return *writing->word++;
}

static enum op_input_kind kind_of(uint64_t head)
{
	return (enum op_input_kind)(head & 0xff);
}

static uint32_t count_of(uint64_t head)
{
	return (uint32_t)(head >> 32);
}

static bool is_strided(uint64_t head)
{
	return head >> 8 & 1;
}

static void skip_words(struct writing *writing, uint64_t words)
{
	if (words > (uint64_t)(writing->end - writing->word))
		writing->wrong = true;
	else
		writing->word += words;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static void write_int(struct writing *writing, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	write_text(writing, text);
}

static double to_double(uint64_t word)
{
	double value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

static void write_double(struct writing *writing, double value)
{
	char text[40], *comma;

	if (value >= -WHOLE_BELOW && value < WHOLE_BELOW && (double)(int64_t)value == value)
		snprintf(text, sizeof(text), "%" PRId64 ".", (int64_t)value);
	else
		snprintf(text, sizeof(text), "%.17g", value);
	comma = strchr(text, ','); /* the decimal separator of the program's locale */
	if (comma)
		*comma = '.';
	write_text(writing, text);
}

static void write_scalar(struct writing *writing, uint64_t head)
{
	uint64_t value = next_word(writing);
	double imaginary;

	switch ((enum op_scalar)(head >> 8 & 0xff)) {
	case OP_SCALAR_INT:
		write_int(writing, (int64_t)value);
		break;
	case OP_SCALAR_DOUBLE:
		write_double(writing, to_double(value));
		break;
	case OP_SCALAR_BOOL:
		write_text(writing, value ? "True" : "False");
		break;
	case OP_SCALAR_COMPLEX:
		imaginary = to_double(next_word(writing));
		write_double(writing, to_double(value));
		write_text(writing, imaginary >= 0 ? "+" : "-");
		write_double(writing, fabs(imaginary));
		write_text(writing, "j");
		break;
	case OP_SCALAR_SYMBOL:
		write_text(writing, "symbolic");
		break;
	case OP_SCALAR_NONE:
		write_text(writing, "None");
		break;
	}
}

static void skip_scalar(struct writing *writing, uint64_t head)
{
	skip_words(writing, (head >> 8 & 0xff) == OP_SCALAR_COMPLEX ? 2 : 1);
}

/* ---- one input --------------------------------------------------------------------------------- */

enum array { DIMS, TYPES, STRIDES, CONCRETE, ARRAYS };

static void write_dims(struct writing *writing, uint32_t count)
{
	uint32_t i;

	write_text(writing, "[");
	for (i = 0; i < count && !writing->wrong; i++) {
		write_text(writing, i ? ", " : "");
		write_int(writing, (int64_t)next_word(writing));
	}
	write_text(writing, "]");
}

static void write_tensor(struct writing *writing, uint64_t head, enum array array)
{
	uint32_t dims = count_of(head), strides = is_strided(head) ? dims : 0;

	if (array == DIMS)
		write_dims(writing, dims);
	else
		skip_words(writing, dims);
	if (array == STRIDES)
		write_dims(writing, strides);
	else
		skip_words(writing, strides);
}

/* Writes dimensions or strides of each tensor; nothing for other inputs. */
static void write_tensors(struct writing *writing, uint64_t head, enum array array)
{
	uint32_t count = count_of(head) <= OP_INPUTS_LIST ? count_of(head) : 0, i;
	bool shown = array == DIMS || array == STRIDES;

	write_text(writing, shown ? "[" : "");
	for (i = 0; i < count && !writing->wrong; i++) {
		uint64_t tensor = next_word(writing);

		write_text(writing, shown && i ? ", " : "");
		if (kind_of(tensor) != OP_INPUT_TENSOR)
			writing->wrong = true;
		write_tensor(writing, tensor, array);
	}
	write_text(writing, shown ? "]" : "");
}

static void write_scalars(struct writing *writing, uint64_t head, bool shown)
{
	uint32_t i;

	write_text(writing, shown ? "[" : "");
	for (i = 0; i < count_of(head) && !writing->wrong; i++) {
		uint64_t scalar = next_word(writing);

		write_text(writing, shown && i ? ", " : "");
		if (shown)
			write_scalar(writing, scalar);
		else
			skip_scalar(writing, scalar);
	}
	write_text(writing, shown ? "]" : "");
}

static void write_type(struct writing *writing, uint64_t head)
{
	uint32_t type = head >> 16 & 0xffff;

	switch (kind_of(head)) {
	case OP_INPUT_TENSOR:
		if (type < OP_INPUTS_TYPES && writing->types->name[type].text)
			write_bytes(writing, writing->types->name[type].text, writing->types->name[type].bytes);
		break;
	case OP_INPUT_SCALAR:
		write_text(writing, "Scalar");
		break;
	case OP_INPUT_TENSORS:
		write_text(writing, "TensorList");
		break;
	case OP_INPUT_SCALARS:
		write_text(writing, "ScalarList");
		break;
	case OP_INPUT_OTHER:
		break;
	}
}

static void write_input(struct writing *writing, enum array array)
{
	uint64_t head = next_word(writing);
	bool in_quotes = array == TYPES || array == CONCRETE;

	write_text(writing, in_quotes ? "\"" : "");
	if (array == TYPES)
		write_type(writing, head);
	switch (kind_of(head)) {
	case OP_INPUT_TENSOR:
		write_tensor(writing, head, array);
		break;
	case OP_INPUT_TENSORS:
		write_tensors(writing, head, array);
		break;
	case OP_INPUT_SCALAR:
		if (array == CONCRETE)
			write_scalar(writing, head);
		else
			skip_scalar(writing, head);
		break;
	case OP_INPUT_SCALARS:
		write_scalars(writing, head, array == CONCRETE);
		break;
	case OP_INPUT_OTHER:
		break;
	default:
		writing->wrong = true;
	}
	if (in_quotes)
		write_text(writing, "\"");
	else if (kind_of(head) != OP_INPUT_TENSOR && kind_of(head) != OP_INPUT_TENSORS)
		write_text(writing, "[]");
}

size_t op_inputs_write(const struct op_input_types *types, const uint64_t *words, uint32_t count, char *text,
		       size_t size)
{
	struct writing writing = {.types = types, .end = words + count, .text = text, .size = size};
	int array;

	for (array = 0; array < ARRAYS && !writing.wrong; array++) {
		write_text(&writing, array ? " [" : "[");
		for (writing.word = words; writing.word < writing.end && !writing.wrong;) {
			write_text(&writing, writing.word > words ? ", " : "");
			write_input(&writing, (enum array)array);
		}
		write_text(&writing, "]");
	}
	return writing.wrong ? 0 : writing.used;
}
