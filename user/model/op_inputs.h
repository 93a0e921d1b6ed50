/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The inputs of a PyTorch op (--shapes): one text of four JSON arrays, separated by blanks, each with an element for
 * every input, as Kineto writes them.  The target wrote it: hostile until op_inputs_split accepts it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum op_inputs_part {
	OP_INPUTS_DIMS,	    /* [4, 8]; [[4], [8]] for a list of tensors; [] for a non-tensor */
	OP_INPUTS_TYPES,    /* "float", "TensorList", "Scalar", "ScalarList", "" */
	OP_INPUTS_STRIDES,  /* as dims */
	OP_INPUTS_CONCRETE, /* "1", "[3, 4]", "" */
	OP_INPUTS_PARTS
};

struct op_inputs_part_text {
	const char *text; /* points into the whole text; not terminated */
	size_t size;
};

/* False: not a text in that format; parts are then invalid. */
bool op_inputs_split(const char *text, size_t size, struct op_inputs_part_text parts[OP_INPUTS_PARTS]);
