/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The inputs of a PyTorch op as 64-bit words, read from PyTorch's objects at the start of the op, on the application's
 * thread, without any call; and as text (agent.h), which the agent's thread makes once for all ops with the same
 * inputs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch_layout.h"

#define OP_INPUTS_WORDS 1024u /* of an op; the inputs of an op that has more are lost */
#define OP_INPUTS_LIST 30u    /* Kineto shows no longer lists (collection.h, util.h) */
#define OP_INPUTS_TYPES 128u  /* dtypes */

/*
 * The low byte of an input's first word: its kind. From bit 8 on: for a tensor 1 if it has strides, for a scalar its
 * enum op_scalar. From bit 16 on: a tensor's dtype. From bit 32 on: the number of dimensions or elements.
 */
enum op_input_kind {
	OP_INPUT_OTHER = 1, /* not recorded; also an undefined tensor, or one with symbolic sizes */
	OP_INPUT_TENSOR,    /* sizes, strides */
	OP_INPUT_SCALAR,    /* its value */
	OP_INPUT_TENSORS,   /* a list: its elements, if at most OP_INPUTS_LIST */
	OP_INPUT_SCALARS,   /* the same */
};

enum op_scalar {
	OP_SCALAR_INT = 1,
	OP_SCALAR_DOUBLE,
	OP_SCALAR_BOOL,
	OP_SCALAR_COMPLEX, /* two words */
	OP_SCALAR_SYMBOL,  /* only Python knows its value; 0 */
	OP_SCALAR_NONE,	   /* in a list; 0 */
};

/* PyTorch's names of its dtypes, by number; PyTorch owns the texts. */
struct op_input_types {
	struct {
		const char *text;
		uint32_t bytes;
	} name[OP_INPUTS_TYPES];
};

/* Returns the number of words; 0: no inputs; more than OP_INPUTS_WORDS: they have no room. */
uint32_t op_inputs_take(const struct torch_layout *layout, const void *op, uint64_t words[OP_INPUTS_WORDS]);

/* Writes their text, at most `size` bytes, and returns its length; 0: no room, or the words are no inputs. */
size_t op_inputs_write(const struct op_input_types *types, const uint64_t *words, uint32_t count, char *text,
		       size_t size);
