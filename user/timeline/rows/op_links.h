/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the forward op of a PyTorch backward op: autograd gives both the same number, which is unique on the forward
 * op's thread.  If several forward ops share a number, it is the one that began last: the innermost, which created the
 * node.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/model.h"

struct op_link_begin {
	uint64_t start_ns; /* of the forward op; 0: already taken by its backward op */
	uint32_t thread;
};

/* Forward ops seen in a piece of the trace. */
struct op_links_met {
	struct lookup forward; /* (process + 1, thread and number) to list */
	ARRAY(struct op_link_begin) list;
};

/* Starts zeroed.  Remembers the latest million forward ops, and at most those of one more part. */
struct op_links {
	struct op_links_met now, before;
};

/* Must be called before each part of the trace. */
void op_links_begin_part(struct op_links *links);

/* Notes the op if it is a forward op. */
void op_links_note(struct op_links *links, const struct model *model, const struct model_op *op);

/* Takes the forward op of a backward op, once each.  False: not a backward op, or its forward op was not seen. */
bool op_links_take(struct op_links *links, const struct model *model, const struct model_op *op,
		   struct op_link_begin *forward);
void op_links_free(struct op_links *links);
