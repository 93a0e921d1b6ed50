/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/op_numbers.h"

#include <string.h>

static bool is_evaluation(const struct ops *ops, const struct model_op *op)
{
	static const char prefix[] = "autograd::engine::evaluate_function: ";

	return op->sequence < 0 && op->name != NONE &&
	       !strncmp(string_at(ops->strings, op->name), prefix, sizeof(prefix) - 1);
}

static void take_number(struct model_op *op, const struct model_op *inner)
{
	op->sequence = inner->sequence;
	op->forward_thread = inner->forward_thread;
}

/* The first that waits and begins inside of the op, NULL. */
static const struct model_op *first_waiting(const struct ops *ops, const struct ops *known, const struct model_op *op)
{
	const struct model_op *first = NULL;

	for (size_t i = 0; i < ops->arrivals.count; i++) {
		const struct model_op *other = &ops->arrivals.items[i].op;

		if (other->start_ns < op->end_ns && (!first || other->start_ns < first->start_ns) &&
		    ops_thread_of(known, &ops->arrivals.items[i]) == op->thread)
			first = other;
	}
	return first;
}

void op_numbers_give(struct ops *ops, const struct ops *known)
{
	for (size_t i = 0; i < ops->list.count; i++) {
		struct model_op *op = &ops->list.items[i];
		const struct model_op *inner = NULL;

		if (op->continued || op->overlaps || !is_evaluation(ops, op))
			continue;
		if (i + 1 < ops->list.count && op[1].thread == op->thread)
			inner = op[1].start_ns < op->end_ns ? &op[1] : NULL;
		else
			inner = first_waiting(ops, known, op);
		if (inner)
			take_number(op, inner);
	}
}
