/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorts keys, and copies each op once, to its place in the list of a part. */
#include "model/tables/op_order.h"

#include <stdlib.h>

#include "model/order.h"

/* Keeps earlier ops that are still open, with their numbers and order. */
static void keep_open(struct ops *ops)
{
	size_t kept = 0;

	for (size_t i = 0; i < ops->list.count; i++) {
		if (ops->list.items[i].end_ns <= ops->until_ns || ops->list.items[i].overlaps)
			continue;
		ops->list.items[kept] = ops->list.items[i];
		ops->list.items[kept++].continued = true;
	}
	ops->list.count = kept;
}

/* Pending ops that begin before until_ns. */
struct begun {
	struct order_key *keys; /* by start */
	size_t count;
	size_t first_waiting; /* the first other op; pending.count: none */
};

/* Finds them, sets their threads, and counts the ops of threads. */
static struct begun find_begun(struct ops *ops, const struct ops *known, struct model_thread *threads,
			       uint64_t until_ns)
{
	struct begun begun = {.keys = xmalloc(ops->pending.count * sizeof(*begun.keys)),
			      .first_waiting = ops->pending.count};
	struct lookup_latest latest = {0};

	for (size_t i = 0; i < ops->pending.count; i++) {
		struct pending_op *pending = &ops->pending.items[i];
		const uint32_t *thread;

		if (pending->op.start_ns >= until_ns) {
			if (begun.first_waiting > i)
				begun.first_waiting = i;
			continue;
		}
		thread = lookup_get_latest(&known->threads, &latest, pending->process + 1, pending->tid);
		pending->op.thread = thread ? *thread : NONE;
		if (pending->op.thread != NONE)
			threads[pending->op.thread].ops++;
		begun.keys[begun.count++] = (struct order_key){.time_ns = pending->op.start_ns, .index = (uint32_t)i};
	}
	order_sort(begun.keys, begun.count);
	return begun;
}

static void drop_begun(struct ops *ops, const struct begun *begun, uint64_t until_ns)
{
	size_t waiting = 0;

	for (size_t i = begun->first_waiting; i < ops->pending.count; i++)
		if (ops->pending.items[i].op.start_ns >= until_ns)
			ops->pending.items[waiting++] = ops->pending.items[i];
	ops->pending.count = waiting;
}

void op_find_forward(struct ops *ops, uint32_t epoch, struct model_op *node)
{
	node->forward = forward_ops_find(&ops->forwards, epoch, node);
	if (node->forward == NONE)
		node->below = forward_ops_find_below(&ops->forwards, epoch, node, &node->forward);
}

/* Sets values of an op that depend on all ops that begin earlier. */
static void number_op(struct ops *ops, struct pending_op *pending)
{
	struct model_op *op = &pending->op;

	op->number = ops->number++;
	op->stack = sampled_stacks_find(ops->sampled, pending->epoch, GPT_STACK_OF_OP, pending->sampled, op->start_ns);
	forward_ops_note(&ops->forwards, pending->epoch, op);
	op->node = op->forward = NONE;
	if (op->scope == GPT_AGENT_OP_BACKWARD_FUNCTION) {
		op->node = op->name;
		op_find_forward(ops, pending->epoch, op);
	}
	if (op->thread != NONE && pending->collective != NONE)
		array_push(&ops->collectives, ((struct model_collective){.op = 1 + op->number,
									 .sequence = pending->collective_sequence,
									 .params = pending->collective}));
}

/* Sets each thread's first index from its count of ops; returns the total. */
static uint32_t make_room(struct model_thread *threads, size_t thread_count)
{
	uint32_t place = 0;

	for (size_t t = 0; t < thread_count; t++) {
		threads[t].first_op = place;
		place += threads[t].ops;
		threads[t].ops = 0;
	}
	return place;
}

static void put_op(struct model_op *ordered, struct model_thread *thread, const struct model_op *op)
{
	ordered[thread->first_op + thread->ops++] = *op;
}

void op_order_take(struct ops *ops, const struct ops *known, struct model_thread *threads, size_t thread_count,
		   uint64_t until_ns)
{
	struct model_op *ordered;
	struct begun begun;
	uint32_t count;

	keep_open(ops);
	for (size_t t = 0; t < thread_count; t++)
		threads[t].ops = 0;
	for (size_t i = 0; i < ops->list.count; i++)
		threads[ops->list.items[i].thread].ops++;
	begun = find_begun(ops, known, threads, until_ns);
	count = make_room(threads, thread_count);
	ordered = xmalloc(count * sizeof(*ordered));
	for (size_t i = 0; i < ops->list.count; i++)
		put_op(ordered, &threads[ops->list.items[i].thread], &ops->list.items[i]);
	for (size_t i = 0; i < begun.count; i++) {
		struct pending_op *pending = &ops->pending.items[begun.keys[i].index];

		number_op(ops, pending);
		if (pending->op.thread != NONE)
			put_op(ordered, &threads[pending->op.thread], &pending->op);
	}
	drop_begun(ops, &begun, until_ns);
	free(begun.keys);
	free(ops->list.items);
	ops->list.items = ordered;
	ops->list.capacity = ops->list.count = count;
}
