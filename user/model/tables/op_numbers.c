/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of ops around autograd nodes. */
#include "model/tables/op_order.h"

#include <string.h>

static bool is_evaluation(const struct ops *ops, const struct model_op *op)
{
	static const char prefix[] = "autograd::engine::evaluate_function: ";

	return op->sequence < 0 && op->name != NONE &&
	       !strncmp(string_at(ops->strings, op->name), prefix, sizeof(prefix) - 1);
}

/* epoch: of a pending inner op, whose forward op was not looked up yet; 0: the inner op is in the list. */
static void take_number(struct ops *ops, struct model_op *op, const struct model_op *inner, uint32_t epoch)
{
	op->sequence = inner->sequence;
	op->forward_thread = inner->forward_thread;
	if (inner->scope != GPT_AGENT_OP_BACKWARD_FUNCTION)
		return;
	op->node = inner->name;
	op->forward = epoch ? forward_ops_find(&ops->forwards, epoch, inner) : inner->forward;
}

/* The first pending op that begins inside the op, NULL. */
static const struct pending_op *first_waiting(const struct ops *ops, const struct ops *known, const struct model_op *op)
{
	const struct pending_op *first = NULL;

	for (size_t i = 0; i < ops->pending.count; i++) {
		const struct pending_op *other = &ops->pending.items[i];

		if (other->op.start_ns < op->end_ns && (!first || other->op.start_ns < first->op.start_ns) &&
		    ops_thread_of(known, other) == op->thread)
			first = other;
	}
	return first;
}

void op_numbers_give(struct ops *ops, const struct ops *known)
{
	for (size_t i = 0; i < ops->list.count; i++) {
		struct model_op *op = &ops->list.items[i];
		const struct pending_op *waiting;

		if (op->continued || op->overlaps || !is_evaluation(ops, op))
			continue;
		if (i + 1 < ops->list.count && op[1].thread == op->thread) {
			if (op[1].start_ns < op->end_ns)
				take_number(ops, op, &op[1], 0);
			continue;
		}
		waiting = first_waiting(ops, known, op);
		if (waiting)
			take_number(ops, op, &waiting->op, waiting->epoch);
	}
}
