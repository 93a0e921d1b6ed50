/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Another profiler's buffers hold records that are not of this trace: that profiler may have begun before the trace, or
 * continue after it.  And CUPTI may have given it one of the agent's buffers, which the agent read, too.
 */
#include "model/join/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* Work of calls before the trace's first or after its last.  Work between them lacks its call, which must be shown. */
static bool is_strange(const struct corr_range *range, const struct model_gpu *op)
{
	if (!op->foreign || op->call != NONE || !op->corr)
		return false;
	return corr_is_before(range, op->corr) || corr_is_after(range, op->corr);
}

/* ---- duplicates ------------------------------------------------------------------------------------------------- */

struct identity {
	const struct model_gpu *op;
	size_t index;
};

/* Sorts by identity of an operation, then by time. */
DEFINE_ORDER(compare_identities, struct identity,
	     least_first(a->op->process, b->op->process) ?: least_first(a->op->corr, b->op->corr) ?:
	     least_first(a->op->kind, b->op->kind) ?: least_first(a->op->context, b->op->context) ?:
	     least_first(a->op->stream, b->op->stream) ?: least_first(a->op->graph, b->op->graph) ?:
	     least_first(a->op->graph_node, b->op->graph_node) ?: least_first(a->op->start_ns, b->op->start_ns) ?:
	     least_first(a->index, b->index))

static bool is_same_work(const struct model_gpu *a, const struct model_gpu *b)
{
	return a->process == b->process && a->corr == b->corr && a->kind == b->kind && a->context == b->context &&
	       a->stream == b->stream && a->graph == b->graph && a->graph_node == b->graph_node;
}

/* Work of one stream runs sequentially, so overlapping records are of the same work, whatever their clocks. */
static bool is_double(const struct model_gpu *a, const struct model_gpu *b)
{
	return a->foreign != b->foreign && is_same_work(a, b) && a->start_ns <= b->end_ns && b->start_ns <= a->end_ns;
}

static void mark_doubles(const struct model_gpu *ops, size_t count, bool *gone)
{
	AUTO_FREE struct identity *all = xmalloc(count * sizeof(*all));

	for (size_t i = 0; i < count; i++)
		all[i] = (struct identity){&ops[i], i};
	qsort(all, count, sizeof(*all), compare_identities);
	for (size_t i = 1; i < count; i++)
		if (is_double(all[i - 1].op, all[i].op))
			gone[all[i - 1].op->foreign ? all[i - 1].index : all[i].index] = true;
}

/* ---- leaving out ------------------------------------------------------------------------------------------------- */

static size_t remove_gone(struct model_gpu *ops, size_t count, const bool *gone)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!gone[i])
			ops[kept++] = ops[i];
	return kept;
}

size_t leave_out_foreign(const struct builder *builder, struct model_gpu *ops, size_t count)
{
	struct corr_range *ranges;
	size_t foreign = 0;
	bool *gone;

	for (size_t i = 0; i < count; i++)
		foreign += ops[i].foreign;
	if (!foreign)
		return count;
	ranges = corr_ranges(builder);
	gone = xcalloc(count, sizeof(*gone));
	mark_doubles(ops, count, gone);
	for (size_t i = 0; i < count; i++)
		gone[i] |= is_strange(&ranges[ops[i].process], &ops[i]);
	count = remove_gone(ops, count, gone);
	free(gone);
	free(ranges);
	return count;
}
