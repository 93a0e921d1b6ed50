/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From which line autograd got each of its nodes.  A forward op that makes a node has autograd's next number on its
 * thread, and the node keeps number and thread.  Several ops may have one number: those around the op that made the
 * node, and those before it that made none; that one is the one that began last.  A node may run much later, more than
 * once, or never, so the stacks of the latest numbers of each thread are kept, whatever becomes of them.
 */
#ifndef GPUTRACE_MODEL_FORWARD_OPS_H
#define GPUTRACE_MODEL_FORWARD_OPS_H

#include "base/array.h"
#include "base/lookup.h"
#include "model/model.h"

#define FORWARD_NUMBERS_MAX (1u << 20) /* of a thread, power of two */

struct forward_entry {
	int64_t sequence;
	uint32_t stack; /* NONE: the entry is free */
};

/* A thread of PyTorch's, by the number that it has there. */
struct forward_thread {
	struct forward_entry *entries; /* by number, modulo how many there are */
	uint32_t mask;
};

struct forward_ops {
	struct lookup by_thread; /* (epoch, PyTorch's number of the thread) to threads */
	ARRAY(struct forward_thread) threads;
	uint64_t room;	    /* entries of all threads */
	uint64_t forgotten; /* numbers that were asked for and no longer there */
};

void forward_ops_init(struct forward_ops *ops, uint64_t seed);
void forward_ops_free(struct forward_ops *ops);

/* Both in the order in which ops began. */
void forward_ops_note(struct forward_ops *ops, uint32_t epoch, const struct model_op *op);
/* The stack of the forward op of a node, NONE: not known. */
uint32_t forward_ops_find(struct forward_ops *ops, uint32_t epoch, const struct model_op *node);

#endif
