/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collects records in order of arrival, sorts them by thread and start, then sweeps over each thread's ops with a stack
 * of open ones.
 */
#include "base/distance.h"
#include "model/tables/ops.h"

#include <string.h>

#include "model/collectives.h"
#include "model/tables/op_order.h"
#include "model/tables/op_sweep.h"
#include "model/order.h"

/* More traces than any program has; a target could invent more. */
#define STOPS_MAX 4096u

/* How many ops of a thread with the same start are searched for an op reported earlier as open. */
#define TWICE_MAX 8u

void ops_free(struct ops *ops)
{
	array_free(&ops->pending);
	array_free(&ops->losses);
	array_free(&ops->stops);
	lookup_free(&ops->texts);
	lookup_free(&ops->threads);
	lookup_free(&ops->lost_of);
	array_free(&ops->thread_names);
	forward_ops_free(&ops->forwards);
}

/* ---- reported events --------------------------------------------------------------------------------------------- */

void ops_add_text(struct ops *ops, struct process_image program, uint32_t key, struct text text)
{
	uint32_t string = string_intern(ops->strings, text.bytes, text.size);

	*lookup_put(&ops->texts, program.epoch, key, string) = string;
	ops->latest_texts = (struct lookup_latest){0};
}

uint32_t ops_text(struct ops *ops, struct process_image program, uint32_t key)
{
	const uint32_t *string = lookup_get_latest(&ops->texts, &ops->latest_texts, program.epoch, key);

	return string ? *string : NONE;
}

void ops_note_thread(struct ops *ops, struct process_image program, uint32_t tid)
{
	if (lookup_get_latest(&ops->threads, &ops->latest_threads, program.process + 1, tid))
		return;
	lookup_put(&ops->threads, program.process + 1, tid, NONE);
	array_push(&ops->thread_names, ((struct op_thread_name){.process = program.process, .tid = tid}));
}

void ops_add(struct ops *ops, struct process_image program, const struct gpt_agent_op *op, struct op_texts texts)
{
	struct pending_op pending = {.process = program.process,
				     .tid = op->tid,
				     .epoch = program.epoch,
				     .sampled = op->stack,
				     .collective = texts.collective,
				     .collective_sequence = op->collective_sequence};

	pending.op = (struct model_op){
		.start_ns = op->start_ns,
		.end_ns = op->end_ns,
		.sequence = op->sequence,
		.handle = op->handle,
		.torch_thread = op->thread,
		.forward_thread = op->forward_thread,
		.name = texts.name,
		.inputs = texts.inputs,
		.scope = op->scope,
		.outer_first = ops->outer_first,
		.overlaps = op->flags & GPT_AGENT_OP_ASYNC,
		.truncated = op->flags & GPT_AGENT_OP_OPEN,
	};
	array_push(&ops->pending, pending);
}

/* An agent that begins to observe again counts from 0. */
static void count_losses(struct ops *ops, struct op_losses *losses, const struct gpt_agent_ops *state)
{
	if (state->lost < losses->ops)
		ops->lost.ops += losses->ops;
	if (state->inputs_lost < losses->inputs)
		ops->lost.inputs += losses->inputs;
	*losses = (struct op_losses){state->lost, state->inputs_lost};
}

void ops_add_state(struct ops *ops, struct process_image program, const struct gpt_agent_ops *state, struct text detail)
{
	struct model_process *process = &ops->processes->list.items[program.process];
	uint32_t index = *lookup_put(&ops->lost_of, program.epoch, 0, (uint32_t)ops->losses.count);

	if (index == ops->losses.count)
		array_push(&ops->losses, (struct op_losses){0});
	count_losses(ops, &ops->losses.items[index], state);
	if (state->state == GPT_AGENT_OPS_STOPPED && ops->stops.count < STOPS_MAX)
		array_push(&ops->stops, ((struct op_stop){.time_ns = state->time_ns, .process = program.process}));
	/* a stop does not change whether ops were observed before */
	if (state->state != GPT_AGENT_OPS_STOPPED || !process->ops_state)
		process->ops_state = (enum gpt_agent_ops_state)state->state;
	process->ops_detail = string_keep(ops->strings, detail.bytes, detail.size);
}

static uint64_t at_most(uint64_t lost)
{
	return lost < UINT32_MAX ? lost : UINT32_MAX;
}

uint64_t ops_lost(const struct ops *ops)
{
	uint64_t lost = ops->lost.ops;

	for (size_t i = 0; i < ops->losses.count; i++)
		lost += at_most(ops->losses.items[i].ops);
	return lost;
}

uint64_t op_inputs_lost(const struct ops *ops)
{
	uint64_t lost = ops->lost.inputs;

	for (size_t i = 0; i < ops->losses.count; i++)
		lost += at_most(ops->losses.items[i].inputs);
	return lost;
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

void ops_find_threads(struct ops *ops)
{
	array_each (name, &ops->thread_names) {
		const uint32_t *own = lookup_get(&ops->processes->by_own_tid, name->process + 1, name->tid);
		uint32_t thread = own ? *own : process_table_find_thread(ops->processes, name->process, name->tid);

		*lookup_get(&ops->threads, name->process + 1, name->tid) = thread;
		ops->processes->threads.items[thread].has_ops = true;
	}
}

/*
 * Of ops with the same start, the one that ends last encloses the others; among equal ends, the one that came last, or
 * first if that is how its source has them.
 */
static void put_outer_first(struct model_op *items, uint32_t count)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		AUTO_FREE struct order_key *keys = NULL;

		for (end = first + 1; end < count && items[end].start_ns == items[first].start_ns;)
			end++;
		if (end == first + 1)
			continue;
		keys = xmalloc((end - first) * sizeof(*keys));
		for (uint32_t i = 0; i < end - first; i++) {
			uint32_t index = items[first].outer_first ? i : end - first - 1 - i;

			keys[i] =
				(struct order_key){.time_ns = UINT64_MAX - items[first + index].end_ns, .index = index};
		}
		order_sort(keys, end - first);
		order_apply(keys, end - first, items + first, sizeof(*items));
	}
}

/* Whether a later record, which now precedes this one, is of the same op. */
static bool is_reported_again(const struct model_op *kept, uint32_t count, const struct model_op *op)
{
	for (uint32_t i = 0; i < TWICE_MAX && i < count; i++) {
		const struct model_op *other = &kept[count - 1 - i];

		if (other->start_ns != op->start_ns)
			return false;
		if (other->name == op->name)
			return op->truncated;
	}
	return false;
}

/*
 * An op that never ended lasts as long as its process, unless its end may have been lost, or until the process's ops
 * were no longer observed, e.g. because another gputrace that had requested them left.
 */
static void end_open(const struct ops *known, struct model_op *op, uint64_t end_ns)
{
	const struct model_thread *thread = &known->processes->threads.items[op->thread];
	uint64_t exit_ns = known->processes->list.items[thread->process].exit_ns;
	uint64_t last_ns = exit_ns ? earlier_time(exit_ns, end_ns) : end_ns;

	for (size_t i = 0; i < known->stops.count; i++)
		if (known->stops.items[i].process == thread->process && known->stops.items[i].time_ns >= op->end_ns)
			last_ns = earlier_time(last_ns, known->stops.items[i].time_ns);
	if (!ops_lost(known) && last_ns > op->end_ns)
		op->end_ns = last_ns;
}

/* An op that begins in another one and ends after it overlaps. */
static void enter_op(struct ops *ops, struct op_nesting *nesting, uint32_t index)
{
	struct model_op *op = &ops->list.items[index];

	op_nesting_leave(ops, nesting, op->start_ns);
	if (nesting->open.count && ops->list.items[nesting->open.items[nesting->open.count - 1]].end_ns < op->end_ns)
		op->overlaps = true;
	if (!op->overlaps)
		array_push(&nesting->open, index);
}

static bool is_evaluation(const struct ops *ops, const struct model_op *op)
{
	static const char prefix[] = "autograd::engine::evaluate_function: ";

	return op->sequence < 0 && op->name != NONE &&
	       !strncmp(string_at(ops->strings, op->name), prefix, sizeof(prefix) - 1);
}

static bool is_node(const struct model_op *op)
{
	return op->scope == GPT_AGENT_OP_BACKWARD_FUNCTION;
}

/* The first pending op, or node, that begins inside the op, NULL. */
static const struct pending_op *first_waiting(const struct ops *ops, const struct ops *known, const struct model_op *op,
					      bool any)
{
	const struct pending_op *first = NULL;

	array_each (other, &ops->pending) {
		if (other->op.start_ns > op->start_ns && other->op.start_ns < op->end_ns &&
		    (!first || other->op.start_ns < first->op.start_ns) && (any || is_node(&other->op)) &&
		    ops_thread_of(known, other) == op->thread)
			first = other;
	}
	return first;
}

/* The first node that begins inside a node of the list, NULL; it may belong to a later part and still be pending. */
static const struct model_op *first_inner_node(const struct ops *ops, const struct ops *known,
					       const struct model_op *node)
{
	const struct model_op *end = ops->list.items + ops->list.count, *inner = node + 1;
	const struct pending_op *waiting;

	for (; inner < end && inner->thread == node->thread; inner++)
		if (inner->start_ns >= node->end_ns || is_node(inner))
			return inner->start_ns < node->end_ns ? inner : NULL;
	waiting = first_waiting(ops, known, node, false);
	return waiting ? &waiting->op : NULL;
}

/*
 * An op that changes a view in place makes two nodes: its own, and one around that (CopySlices) with a later number,
 * which no op has.
 */
static void settle_forward(struct model_op *node, const struct model_op *inner)
{
	if (node->below && (!inner || inner->forward_thread != node->forward_thread ||
			    inner->sequence != node->sequence - node->below))
		node->forward = NONE;
	node->below = 0;
}

static void settle_forwards(struct ops *ops, const struct ops *known)
{
	array_each (node, &ops->list) {
		if (node->below)
			settle_forward(node, node->overlaps ? NULL : first_inner_node(ops, known, node));
	}
}

/* Of a pending node, which was not looked up yet. */
static void find_pending_forward(struct ops *ops, const struct ops *known, uint32_t epoch, struct model_op *node)
{
	const struct pending_op *inner;

	op_find_forward(ops, epoch, node);
	inner = node->below ? first_waiting(ops, known, node, false) : NULL;
	settle_forward(node, inner ? &inner->op : NULL);
}

static void take_number(struct model_op *op, const struct model_op *inner)
{
	op->sequence = inner->sequence;
	op->forward_thread = inner->forward_thread;
	if (!is_node(inner))
		return;
	op->node = inner->name;
	op->forward = inner->forward;
}

static void take_pending_number(struct ops *ops, const struct ops *known, struct model_op *op)
{
	const struct pending_op *waiting = first_waiting(ops, known, op, true);
	struct model_op inner;

	if (!waiting)
		return;
	inner = waiting->op;
	inner.thread = op->thread;
	if (is_node(&inner))
		find_pending_forward(ops, known, waiting->epoch, &inner);
	take_number(op, &inner);
}

/*
 * "autograd::engine::evaluate_function: X" is the op around an autograd node, but PyTorch numbers only the node.  As in
 * Kineto, this op gets the number and the forward thread of the first op inside it.  Works on the ordered ops; the
 * first op inside may belong to a later part and still be pending.
 */
static void give_numbers(struct ops *ops, const struct ops *known)
{
	for (size_t i = 0; i < ops->list.count; i++) {
		struct model_op *op = &ops->list.items[i];

		if (op->continued || op->overlaps || !is_evaluation(ops, op))
			continue;
		if (i + 1 == ops->list.count || op[1].thread != op->thread)
			take_pending_number(ops, known, op);
		else if (op[1].start_ns < op->end_ns)
			take_number(op, &op[1]);
	}
}

void ops_join(struct ops *ops, const struct ops *known, struct model_thread *threads, uint64_t end_ns,
	      uint64_t until_ns)
{
	size_t thread_count = known->processes->threads.count;
	struct op_nesting nesting = {0};
	uint32_t kept = 0;

	ops->collectives.count = collectives_keep_latest(ops->collectives.items, ops->collectives.count);
	op_order_take(ops, known, threads, thread_count, until_ns);
	for (size_t t = 0; t < thread_count; t++) {
		uint32_t first = threads[t].first_op, count = threads[t].ops;

		threads[t].first_op = kept;
		put_outer_first(ops->list.items + first, count);
		nesting.open.count = 0;
		for (uint32_t i = first; i < first + count; i++) {
			struct model_op *op = &ops->list.items[i];

			if (is_reported_again(ops->list.items + threads[t].first_op, kept - threads[t].first_op, op))
				continue;
			if (op->truncated && !op->continued)
				end_open(known, op, end_ns);
			if (kept != i)
				ops->list.items[kept] = *op;
			enter_op(ops, &nesting, kept++);
		}
		threads[t].ops = kept - threads[t].first_op;
	}
	ops->list.count = kept;
	ops->until_ns = until_ns;
	settle_forwards(ops, known);
	give_numbers(ops, known);
	array_free(&nesting.open);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/*
 * The innermost op, by torch.profiler's rule for linking GPU work: an op that the program named itself counts only if
 * no other is open.  A collective has such a named op inside its own op.
 */
static uint64_t op_of_call(const struct ops *ops, const struct op_nesting *nesting)
{
	const struct model_op *op = NULL;

	for (size_t i = nesting->open.count; i-- && (!op || op->scope == GPT_AGENT_OP_USER_SCOPE);) {
		const struct model_op *around = &ops->list.items[nesting->open.items[i]];

		if (!op || around->scope != GPT_AGENT_OP_USER_SCOPE)
			op = around;
	}
	return op ? 1 + op->number : 0;
}

/* Python code that a node runs (a custom function, a hook, a recomputed forward) has its own frames. */
static bool is_of_python(const struct model_call *call, const struct model_op *node)
{
	return call->stack != NONE && call->stack_state != GPT_STACK_BACKWARD && call->stack != node->stack;
}

static void set_op(const struct ops *ops, const struct op_nesting *nesting, struct model_call *call)
{
	const struct model_op *node;

	if (!nesting->open.count)
		return;
	call->op = op_of_call(ops, nesting);
	node = op_nesting_node(ops, nesting);
	if (!node)
		return;
	call->around = node->forward;
	call->in_node = is_of_python(call, node);
	if (call->in_node)
		return;
	call->node = node->node;
	call->forward = node->forward;
}

void ops_join_calls(const struct ops *ops, const struct model_thread *threads, size_t thread_count,
		    struct model_call *calls, size_t count)
{
	struct op_sweep sweep;

	if (!ops->list.count)
		return;
	op_sweep_begin(&sweep, ops, threads, thread_count);
	for (size_t i = 0; i < count && calls[i].start_ns < ops->until_ns; i++) {
		const struct op_nesting *nesting = op_sweep_at(&sweep, calls[i].thread, calls[i].start_ns);

		set_op(ops, nesting, &calls[i]);
	}
	op_sweep_end(&sweep);
}
