/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the line that created each autograd node.  A forward op that creates a node has autograd's next number on its
 * thread, and the node keeps number and thread.  Several ops may share a number: the ops around the creating op, and
 * earlier ops that created none; the creating op is the one that began last.  A node may run much later, more than
 * once, or never, so the stacks of each thread's latest numbers are kept in any case.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/model.h"

#define FORWARD_NUMBERS_MAX (1u << 20) /* of a thread, power of two */

struct forward_entry {
	int64_t sequence;
	uint32_t stack; /* NONE: the entry is free */
};

/* A thread, identified by PyTorch's number. */
struct forward_thread {
	struct forward_entry *entries; /* by sequence, modulo their count */
	uint32_t mask;
};

struct forward_ops {
	struct lookup by_thread; /* (epoch, PyTorch's number of the thread) to threads */
	ARRAY(struct forward_thread) threads;
	uint64_t room;	    /* entries of all threads */
	uint64_t forgotten; /* look-ups of numbers that were already overwritten */
};

void forward_ops_free(struct forward_ops *ops);

/* Both must be called in the order in which ops began. */
void forward_ops_note(struct forward_ops *ops, uint32_t epoch, const struct model_op *op);
/* The stack of the forward op of a node, NONE: not known. */
uint32_t forward_ops_find(struct forward_ops *ops, uint32_t epoch, const struct model_op *node);
/* The same of the last op with a number below the node's, which may have made this node, too: by how much it is below;
 * 0: none. */
uint8_t forward_ops_find_below(struct forward_ops *ops, uint32_t epoch, const struct model_op *node, uint32_t *stack);
