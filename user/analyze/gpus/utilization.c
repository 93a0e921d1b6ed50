/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds covered time in one pass over operations by start. */
#include "analyze/gpus/utilization.h"

#include <stdlib.h>

#include "base/order.h"

void utilization_init(struct utilization *all, const struct window *window)
{
	*all = (struct utilization){.window = window};
}

void utilization_free(struct utilization *all)
{
	tally_free(&all->devices);
	array_free(&all->rows);
}

/* How much of [start, end) lies after `until`; advances `until`. */
static uint64_t cover_span(uint64_t *until, uint64_t start, uint64_t end)
{
	uint64_t from = start > *until ? start : *until;

	if (end <= from)
		return 0;
	*until = end;
	return end - from;
}

static struct utilization_row *row_of(struct utilization *all, uint32_t device)
{
	size_t known = all->rows.count, row;

	row = tally_number(&all->devices, (struct tally_key){{device}});
	if (row == known)
		array_push(&all->rows, ((struct utilization_row){.device = device}));
	return &all->rows.items[row];
}

static void add_time(struct utilization *all, struct utilization_row *row, const struct model_gpu *op)
{
	uint64_t start = op->start_ns < all->window->start_ns ? all->window->start_ns : op->start_ns;
	uint64_t end = op->end_ns > all->window->end_ns ? all->window->end_ns : op->end_ns;
	uint64_t before_ns = row->busy_ns;

	if (!row->busy_until_ns)
		row->first_ns = start;
	row->busy_ns += cover_span(&row->busy_until_ns, start, end);
	row->outside_ns += cover_span(&row->until_ns, op->start_ns, op->end_ns) - (row->busy_ns - before_ns);
	if (op->kind == MODEL_KERNEL)
		row->kernel_ns += cover_span(&row->kernel_until_ns, start, end);
}

/* The operations of a graph's launch follow each other. */
static bool is_unseen_launch(struct utilization_row *row, const struct model_gpu *op)
{
	bool is_new = !op->graph || op->corr != row->graph_corr;

	if (op->call != NONE || (op->kind != MODEL_KERNEL && !op->graph))
		return false;
	if (op->graph)
		row->graph_corr = op->corr;
	return is_new;
}

void utilization_add_gpu(struct utilization *all, const struct gpu_event *event)
{
	struct utilization_row *row = row_of(all, event->op->device);

	row->launches +=
		event->first && (event->launch->class == GPT_CLASS_LAUNCH || event->launch->class == GPT_CLASS_GRAPH);
	row->unseen += is_unseen_launch(row, event->op);
	add_time(all, row, event->op);
}

void utilization_add_device(struct utilization *all, uint32_t device)
{
	row_of(all, device);
}

void utilization_add_crossing(struct utilization *all, const struct model_gpu *op)
{
	struct utilization_row *row = row_of(all, op->device);
	uint64_t outside_ns = row->outside_ns;

	add_time(all, row, op);
	row->outside_ns = outside_ns;
}

DEFINE_ORDER(by_device, struct utilization_row, lower_first(a->device, b->device))

void utilization_finish(struct utilization *all)
{
	array_sort(&all->rows, by_device);
}
