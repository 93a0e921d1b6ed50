/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/nccl_calls.h"

#include <stdlib.h>

#include "base/order.h"
#include "model/collectives.h"

DEFINE_ORDER(by_time, struct model_collective,
	     least_first(a->launch_ns, b->launch_ns) ?: least_first(a->thread, b->thread))

void nccl_calls_add(struct nccl_calls *calls, const struct model_collective *call)
{
	size_t count = calls->list.count;

	calls->unordered |= count && by_time(&calls->list.items[count - 1], call) > 0;
	array_push(&calls->list, *call);
}

void nccl_calls_order(struct nccl_calls *calls)
{
	if (calls->unordered)
		array_sort(&calls->list, by_time);
	calls->unordered = false;
	calls->list.count = collectives_keep_latest(calls->list.items, calls->list.count);
}
