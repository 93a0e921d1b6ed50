/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which compiler a stack is in.  Triton, Inductor, Dynamo and Numba are Python, so what they do has no event of its
 * own: only the frames of a thread that was sampled, or that waits, say it.  A frame is known by the end of its file's
 * path and by its function: nothing else marks it, and a program that names its own so is taken for one.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"

enum compiler {
	COMPILER_NONE,
	COMPILER_TRITON,
	COMPILER_INDUCTOR,
	COMPILER_DYNAMO,
	COMPILER_NUMBA,
};

struct compilers {
	ARRAY(uint8_t) of_code;	 /* by model.codes: enum compiler + 1, once looked up */
	ARRAY(uint8_t) of_stack; /* by model.stacks: the same */
};

void compilers_free(struct compilers *compilers);

/* The innermost compiler of that place (caller_place): Triton, where Dynamo called Inductor, and that Triton. */
enum compiler compiler_at(struct compilers *compilers, const struct model *model, uint32_t place);

/* "Triton", "Inductor", "Dynamo", "Numba" */
const char *compiler_name(enum compiler compiler);
