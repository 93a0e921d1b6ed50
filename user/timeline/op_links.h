/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which forward op of PyTorch a backward one belongs to: autograd gives both the same number, which is unique on the
 * thread of the forward one.  Of several forward ops with one number it is the one that began last: the innermost,
 * which made the node.
 */
#ifndef GPUTRACE_TIMELINE_OP_LINKS_H
#define GPUTRACE_TIMELINE_OP_LINKS_H

#include "base/array.h"
#include "base/lookup.h"
#include "model/model.h"

struct op_link_begin {
	uint64_t start_ns; /* of the forward op; 0: its backward op was met */
	uint32_t thread;
};

/* Forward ops that were met in a stretch of the trace. */
struct op_links_met {
	struct lookup forward; /* (process + 1, thread and number) to list */
	ARRAY(struct op_link_begin) list;
};

/* Starts zeroed.  What is remembered: the latest million, and at most those of one part more. */
struct op_links {
	struct op_links_met now, before;
};

/* Before each part of the trace. */
void op_links_begin_part(struct op_links *links);

/* A forward op is noted; others are not. */
void op_links_note(struct op_links *links, const struct model *model, const struct model_op *op);

/* The forward op of a backward one; each has one.  False: it is none, or that was not seen. */
bool op_links_take(struct op_links *links, const struct model *model, const struct model_op *op,
		   struct op_link_begin *forward);
void op_links_free(struct op_links *links);

#endif
