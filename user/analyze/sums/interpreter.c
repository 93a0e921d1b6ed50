/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A span counts as idle, less the operations that overlap it. */
#include "analyze/sums/interpreter.h"

#include <stdlib.h>

#include "base/order.h"

void interpreter_init(struct interpreter *all, const struct model *model)
{
	*all = (struct interpreter){.process_count = model->process_count};
	all->processes = xcalloc(model->process_count, sizeof(*all->processes));
}

void interpreter_free(struct interpreter *all)
{
	for (uint32_t i = 0; i < all->process_count; i++)
		array_free(&all->processes[i].spans);
	free(all->processes);
	tally_free(&all->keys);
	array_free(&all->rows);
}

/* Spans of a process that are kept without checking whether they are over. */
#define SPANS_KEPT 16u

/* Subtracts [start, end) from the idle time of spans; drops spans that end by then, as later operations begin later. */
static void subtract_span(struct interpreter *all, struct interpreter_process *process, uint64_t start_ns,
			  uint64_t end_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->spans.count; i++) {
		struct interpreter_span span = process->spans.items[i];
		uint64_t from = span.start_ns > start_ns ? span.start_ns : start_ns;
		uint64_t to = span.end_ns < end_ns ? span.end_ns : end_ns;

		if (to > from)
			all->rows.items[span.row].idle_ns -= to - from;
		if (span.end_ns > end_ns)
			process->spans.items[kept++] = span;
	}
	process->spans.count = kept;
}

void interpreter_add_gpu(struct interpreter *all, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct interpreter_process *process = &all->processes[op->process];
	uint64_t from = op->start_ns > process->busy_until_ns ? op->start_ns : process->busy_until_ns;

	if (!gpu_ns(op))
		return;
	all->has_gpu = true;
	if (op->end_ns <= from)
		return;
	process->busy_until_ns = op->end_ns;
	if (process->spans.count)
		subtract_span(all, process, from, op->end_ns);
}

static void keep_span(struct interpreter_process *process, struct interpreter_span span, uint64_t now_ns)
{
	size_t kept = 0;

	if (process->spans.count >= process->forget_at) {
		for (size_t i = 0; i < process->spans.count; i++)
			if (process->spans.items[i].end_ns > now_ns)
				process->spans.items[kept++] = process->spans.items[i];
		process->spans.count = kept;
		process->forget_at = 2 * kept + SPANS_KEPT;
	}
	array_push(&process->spans, span);
}

static uint32_t row_of(struct interpreter *all, const struct model_span *span)
{
	struct tally_key key = {{span->kind, (uint32_t)span->generation, span->name}};
	size_t known = all->rows.count, row = tally_number(&all->keys, key);

	if (row == known)
		array_push(&all->rows,
			   ((struct interpreter_row){
				   .kind = span->kind, .generation = span->generation, .name = span->name}));
	return (uint32_t)row;
}

void interpreter_add_span(struct interpreter *all, const struct span_event *event)
{
	const struct model_span *span = event->span;
	struct interpreter_process *process = &all->processes[event->process];
	struct interpreter_span kept = {.start_ns = span->start_ns, .end_ns = span->end_ns};
	uint64_t ns = span->end_ns - span->start_ns;
	struct interpreter_row *row;

	kept.row = row_of(all, span);
	row = &all->rows.items[kept.row];
	row->ns += ns;
	row->count++;
	row->idle_ns += ns;
	row->longest_ns = ns > row->longest_ns ? ns : row->longest_ns;
	all->longest_ns = ns > all->longest_ns ? ns : all->longest_ns;
	all->ns += ns;
	/* operations that run now came before it */
	if (process->busy_until_ns > span->start_ns) {
		kept.start_ns = process->busy_until_ns < span->end_ns ? process->busy_until_ns : span->end_ns;
		row->idle_ns -= kept.start_ns - span->start_ns;
	}
	if (kept.start_ns < kept.end_ns)
		keep_span(process, kept, span->start_ns);
}

DEFINE_ORDER(by_time, struct interpreter_row,
	     most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: least_first(a->kind, b->kind) ?:
	     least_first((uint32_t)a->generation, (uint32_t)b->generation) ?: least_first(a->name, b->name))

void interpreter_finish(struct interpreter *all)
{
	array_sort(&all->rows, by_time);
}
