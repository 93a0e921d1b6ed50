/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/step_back.h"

#include <stdlib.h>

#include "base/order.h"

#define STEP_BACK_LEAST_NS 1000000u /* times of GPUs are not that wrong */

DEFINE_ORDER(by_sequence, struct numbered_arrival,
	     least_first(a->group, b->group) ?: lower_first(a->sequence, b->sequence) ?:
	     least_first(a->arrival, b->arrival))

/* Numbers from `from` on that are of one group; *is_again: one of them is there twice, so that they are no order. */
static size_t end_of_group(const struct numbered_arrivals *numbered, size_t from, bool *is_again)
{
	const struct numbered_arrival *list = numbered->list.items;
	size_t end = from + 1;

	*is_again = false;
	for (; end < numbered->list.count && list[end].group == list[from].group; end++)
		*is_again |= list[end].sequence == list[end - 1].sequence;
	return end;
}

/*
 * A group's kernels run one after the other.  If one begins before an earlier one did, the clock of the file was set
 * back, and what follows in the group has other times than what is before: that has no end from here on.
 */
static void find_step_back(struct numbered_arrivals *numbered, struct arriving_rank *rank)
{
	struct numbered_arrival *list = numbered->list.items;
	struct collective_arrival *arrivals = rank->met.list.items;
	size_t count = numbered->list.count;
	bool is_again;

	if (count)
		qsort(list, count, sizeof(*list), by_sequence);
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t latest_ns = 0;
		bool is_after = false;

		end = end_of_group(numbered, i, &is_again);
		for (size_t k = i; k < end && !is_again; k++) {
			struct collective_arrival *arrival = &arrivals[list[k].arrival];

			if (arrival->arrived_ns + STEP_BACK_LEAST_NS < latest_ns) {
				is_after = true;
				if (latest_ns - arrival->arrived_ns > rank->step_back_ns)
					rank->step_back_ns = latest_ns - arrival->arrived_ns;
			}
			if (!is_after)
				latest_ns = arrival->arrived_ns;
			else
				arrival->ended_ns = 0;
		}
	}
}

void step_back_drop(struct numbered_arrivals *numbered, struct arriving_rank *rank)
{
	size_t kept = 0, count = rank->met.list.count;

	find_step_back(numbered, rank);
	for (size_t i = 0; i < count; i++)
		if (rank->met.list.items[i].ended_ns)
			rank->met.list.items[kept++] = rank->met.list.items[i];
	rank->after_step_back = count - kept;
	rank->met.list.count = kept;
}
