/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What an op of PyTorch was called with, as 64-bit words: taken out of PyTorch's objects while the op begins, on the
 * application's thread, without a call of anything; and as text (agent.h), which the agent's thread makes of them once
 * for all ops that were called with the same.
 */
#ifndef GPUTRACE_AGENT_OP_INPUTS_H
#define GPUTRACE_AGENT_OP_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/torch/torch_layout.h"

#define OP_INPUTS_WORDS 1024u /* of an op; one that has more is lost */
#define OP_INPUTS_LIST 30u    /* Kineto shows no longer list (collection.h, util.h) */
#define OP_INPUTS_TYPES 128u  /* dtypes */

/*
 * The low byte of a word that begins an input: what it is.  Then, from bit 8 on: of a tensor 1 where it has strides; of
 * a scalar enum op_scalar.  From bit 16 on the number of a tensor's dtype; from bit 32 on how many dimensions,
 * elements.
 */
enum op_input_kind {
	OP_INPUT_OTHER = 1, /* nothing is recorded of it; also an undefined tensor, and one of symbolic sizes */
	OP_INPUT_TENSOR,    /* sizes, strides */
	OP_INPUT_SCALAR,    /* its value */
	OP_INPUT_TENSORS,   /* a list: its elements, if they are not more than OP_INPUTS_LIST */
	OP_INPUT_SCALARS,   /* the same */
};

enum op_scalar {
	OP_SCALAR_INT = 1,
	OP_SCALAR_DOUBLE,
	OP_SCALAR_BOOL,
	OP_SCALAR_COMPLEX, /* two words */
	OP_SCALAR_SYMBOL,  /* its value is known to Python alone; 0 */
	OP_SCALAR_NONE,	   /* in a list; 0 */
};

/* How PyTorch calls its dtypes, by number; the texts are PyTorch's. */
struct op_input_types {
	struct {
		const char *text;
		uint32_t bytes;
	} name[OP_INPUTS_TYPES];
};

/* How many words; 0: it has no inputs; more than OP_INPUTS_WORDS: they have no room. */
uint32_t op_inputs_take(const struct torch_layout *layout, const void *op, uint64_t words[OP_INPUTS_WORDS]);

/* Their text, of at most `size` bytes; 0: it has no room, or these are no inputs. */
size_t op_inputs_write(const struct op_input_types *types, const uint64_t *words, uint32_t count, char *text,
		       size_t size);

#endif
