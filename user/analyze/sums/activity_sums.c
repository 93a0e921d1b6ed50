/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a row for each key when its first activity comes. */
#include "analyze/sums/activity_sums.h"

#include "base/order.h"

void activity_sums_free(struct activity_sums *sums)
{
	tally_free(&sums->keys);
	array_free(&sums->rows);
}

static void add_activity(struct activity_sums *sums, uint32_t kind, uint32_t what, bool timed, uint64_t ns)
{
	struct tally_entry *entry = tally_at(&sums->keys, (struct tally_key){{kind, what}});
	struct activity_row *row;

	if (!entry->count++)
		array_push(&sums->rows, ((struct activity_row){.kind = kind, .what = what}));
	row = &sums->rows.items[entry - sums->keys.entries];
	row->count++;
	if (!timed)
		return;
	if (!row->timed++ || ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	row->ns += ns;
	sums->ns += ns;
}

void activity_sums_add_gpu(struct activity_sums *sums, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint32_t what = op->kind == MODEL_KERNEL ? op->name : op->kind == MODEL_MEMCPY ? op->memcpy_kind : 0;

	add_activity(sums, op->kind, what, op->start_ns != 0, gpu_ns(op));
}

void activity_sums_add_call(struct activity_sums *sums, const struct call_event *event)
{
	const struct model_call *call = event->call;

	add_activity(sums, 0, call->api, call->end_ns != 0,
		     call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0);
}

DEFINE_ORDER(by_time, struct activity_row,
	     most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: least_first(a->kind, b->kind) ?:
	     least_first(a->what, b->what))

void activity_sums_finish(struct activity_sums *sums)
{
	array_sort(&sums->rows, by_time);
}
