/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the innermost PyTorch op on a thread; times asked for must not decrease on each thread. */
#pragma once

#include "model/tables/ops.h"

struct op_nesting {
	ARRAY(uint32_t) open; /* indices of the list, outermost first */
};

struct op_sweep {
	const struct ops *ops; /* joined */
	const struct model_thread *threads;
	size_t thread_count;
	struct op_nesting *nestings; /* by thread */
	uint32_t *next;		     /* of its ops */
};

void op_sweep_begin(struct op_sweep *sweep, const struct ops *ops, const struct model_thread *threads,
		    size_t thread_count);
void op_sweep_end(struct op_sweep *sweep);

/* The ops open at time_ns, outermost first, as indices of the list; count 0: none. */
const struct op_nesting *op_sweep_at(struct op_sweep *sweep, uint32_t thread, uint64_t time_ns);

/* Removes ops that end at or before time_ns. */
static inline void op_nesting_leave(const struct ops *ops, struct op_nesting *nesting, uint64_t time_ns)
{
	while (nesting->open.count && ops->list.items[nesting->open.items[nesting->open.count - 1]].end_ns <= time_ns)
		nesting->open.count--;
}

/* The innermost backward node, or op that evaluates one; NULL: none is open. */
static inline const struct model_op *op_nesting_node(const struct ops *ops, const struct op_nesting *nesting)
{
	for (size_t i = nesting->open.count; i-- > 0;)
		if (ops->list.items[nesting->open.items[i]].node != NONE)
			return &ops->list.items[nesting->open.items[i]];
	return NULL;
}
