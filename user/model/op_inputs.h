/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an op of PyTorch was called with (--shapes): one text of four JSON arrays, a blank between, each with an element
 * for every input, as Kineto writes them.  A target wrote it: hostile until op_inputs_split has taken it.
 */
#ifndef GPUTRACE_MODEL_OP_INPUTS_H
#define GPUTRACE_MODEL_OP_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

enum op_inputs_part {
	OP_INPUTS_DIMS,	    /* [4, 8]; [[4], [8]] of a list of tensors; [] of what is no tensor */
	OP_INPUTS_TYPES,    /* "float", "TensorList", "Scalar", "ScalarList", "" */
	OP_INPUTS_STRIDES,  /* as dims */
	OP_INPUTS_CONCRETE, /* "1", "[3, 4]", "" */
	OP_INPUTS_PARTS
};

struct op_inputs_part_text {
	const char *text; /* in the whole one: not terminated */
	size_t size;
};

/* False: it is not such a text. Then parts hold nothing of use. */
bool op_inputs_split(const char *text, size_t size, struct op_inputs_part_text parts[OP_INPUTS_PARTS]);

#endif
