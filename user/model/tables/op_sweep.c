/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/op_sweep.h"

#include <stdlib.h>

void op_sweep_begin(struct op_sweep *sweep, const struct ops *ops, const struct model_thread *threads,
		    size_t thread_count)
{
	*sweep = (struct op_sweep){.ops = ops, .threads = threads, .thread_count = thread_count};
	sweep->next = xcalloc(thread_count, sizeof(*sweep->next));
	sweep->nestings = xcalloc(thread_count, sizeof(*sweep->nestings));
}

void op_sweep_end(struct op_sweep *sweep)
{
	for (size_t t = 0; t < sweep->thread_count; t++)
		array_free(&sweep->nestings[t].open);
	free(sweep->nestings);
	free(sweep->next);
}

const struct op_nesting *op_sweep_at(struct op_sweep *sweep, uint32_t thread, uint64_t time_ns)
{
	const struct model_thread *of = &sweep->threads[thread];
	const struct model_op *ops = sweep->ops->list.items + of->first_op;
	struct op_nesting *nesting = &sweep->nestings[thread];

	for (uint32_t *next = &sweep->next[thread]; *next < of->ops && ops[*next].start_ns <= time_ns; (*next)++) {
		if (ops[*next].overlaps)
			continue;
		op_nesting_leave(sweep->ops, nesting, ops[*next].start_ns);
		array_push(&nesting->open, of->first_op + *next);
	}
	op_nesting_leave(sweep->ops, nesting, time_ns);
	return nesting;
}
