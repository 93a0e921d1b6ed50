/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ops come before the calls made in them, so the open ops of a thread are known when a call comes. */
#include "analyze/sums/ops.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/tree/op_tree.h"
#include "base/order.h"

void ops_by_name_init(struct ops_by_name *all, const struct model *model)
{
	*all = (struct ops_by_name){.model = model, .thread_count = model->thread_count};
	for (uint32_t i = 0; i < model->thread_count && !all->threads; i++)
		if (model->threads[i].has_ops)
			all->threads = xcalloc(model->thread_count, sizeof(*all->threads));
}

void ops_by_name_free(struct ops_by_name *all)
{
	for (uint32_t i = 0; all->threads && i < all->thread_count; i++)
		array_free(&all->threads[i].open);
	free(all->threads);
	tally_free(&all->keys);
	array_free(&all->rows);
}

static uint32_t row_of(struct ops_by_name *all, const struct model_op *op)
{
	bool annotated = op->scope == GPT_AGENT_OP_USER_SCOPE;
	size_t known = all->rows.count;
	size_t row = tally_number(&all->keys, (struct tally_key){{op->name, annotated}});

	if (row == known)
		array_push(&all->rows, ((struct op_row){.name = op->name,
							.annotated = annotated,
							.hidden = op->name != NONE &&
								  op_name_is_hidden(all->model->strings[op->name])}));
	return (uint32_t)row;
}

static void leave_until(struct op_thread *thread, uint64_t time_ns)
{
	while (thread->open.count && thread->open.items[thread->open.count - 1].end_ns <= time_ns)
		thread->open.count--;
}

/* Time of a child is not the row's own. */
static void take_from(struct op_row *row, uint64_t ns)
{
	row->cpu_self_ns -= ns < row->cpu_self_ns ? ns : row->cpu_self_ns;
}

/* Returns whether the op is now open: not if it overlaps, or if there was no room. */
static bool enter_op(struct ops_by_name *all, struct op_thread *thread, const struct model_op *op, uint32_t row)
{
	leave_until(thread, op->start_ns);
	if (op->overlaps || thread->open.count == OPS_OPEN_MAX) {
		all->left_out += !op->overlaps;
		return false;
	}
	array_push(&thread->open, ((struct op_open){.end_ns = op->end_ns, .row = row}));
	return true;
}

void ops_by_name_add_op(struct ops_by_name *all, const struct op_event *event)
{
	const struct model_op *op = event->op;
	struct op_thread *thread = &all->threads[op->thread];
	uint32_t index = row_of(all, op);
	uint64_t ns = op->end_ns - op->start_ns;
	struct op_row *row = &all->rows.items[index];

	if (row->hidden)
		return;
	row->calls++;
	row->cpu_ns += ns;
	row->cpu_self_ns += ns;
	if (enter_op(all, thread, op, index) && thread->open.count > 1)
		take_from(&all->rows.items[thread->open.items[thread->open.count - 2].row], ns);
}

void ops_by_name_add_call(struct ops_by_name *all, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct op_thread *thread = all->threads ? &all->threads[call->thread] : NULL;
	struct op_row *row;

	if (!thread)
		return;
	leave_until(thread, call->start_ns);
	if (!thread->open.count)
		return;
	row = &all->rows.items[thread->open.items[thread->open.count - 1].row];
	row->gpu_self_ns += event->gpu_ns;
	if (call->end_ns > call->start_ns)
		take_from(row, call->end_ns - call->start_ns);
	all->gpu_inside_ns += event->gpu_ns;
	for (size_t i = 0; i < thread->open.count; i++) {
		row = &all->rows.items[thread->open.items[i].row];
		row->gpu_ns += event->gpu_ns;
		if (row->last_call != event->call->number + 1)
			row->gpu_once_ns += event->gpu_ns;
		row->last_call = event->call->number + 1;
	}
}

DEFINE_ORDER(by_time, struct op_row,
	     most_first(a->gpu_self_ns, b->gpu_self_ns) ?: most_first(a->cpu_self_ns, b->cpu_self_ns) ?:
	     most_first(a->calls, b->calls) ?: least_first(a->name, b->name))

void ops_by_name_finish(struct ops_by_name *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->rows.count; i++) {
		if (all->rows.items[i].hidden)
			continue;
		all->rows.items[kept++] = all->rows.items[i];
		all->cpu_self_ns += all->rows.items[i].cpu_self_ns;
	}
	all->rows.count = kept;
	array_sort(&all->rows, by_time);
}
