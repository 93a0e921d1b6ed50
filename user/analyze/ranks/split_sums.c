/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of a split by rank, and by name and line. */
#include "analyze/ranks/split_sums.h"

#include <stdlib.h>

#include "base/distance.h"
#include "base/order.h"
#include "base/tally.h"

static void add_to(struct split_sum *sum, const struct collective_kernel *kernel, const struct kernel_split *split)
{
	uint64_t dispatch_ns;

	sum->count++;
	sum->ns += kernel_duration(kernel);
	sum->lacking[split->lack]++;
	if (split->lack == SPLIT_KNOWN) {
		sum->waiting_ns += split->waiting_ns;
		sum->transfer_ns += split->transfer_ns;
		sum->error_ns += split->error_ns;
	} else {
		sum->unknown_ns += kernel_duration(kernel);
	}
	if (kernel_dispatch(kernel, &dispatch_ns)) {
		sum->dispatch_ns += dispatch_ns;
		sum->dispatched++;
	}
}

static void finish_kernel(const struct collective_kernel *kernel, struct kernel_split *split)
{
	uint64_t duration_ns = kernel_duration(kernel);

	if (split->lack == SPLIT_KNOWN && split->last == NONE) /* it waits for no other rank */
		split->error_ns = 0;
	if (split->lack != SPLIT_KNOWN) {
		*split = (struct kernel_split){.last = NONE, .lack = split->lack};
		return;
	}
	split->waiting_ns = earlier_time(split->waiting_ns, duration_ns);
	split->transfer_ns = duration_ns - split->waiting_ns;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

struct grouping {
	struct collective_split *split;
	struct tally groups;	/* halves of a key; more: index + 1 */
	struct tally by_number; /* log, communicator; more: index + 1, so that few keys are looked up */
	struct tally counts;	/* communicator, rank: its kernels */
};

static struct tally_entry *group_of(struct grouping *grouping, size_t log, uint32_t communicator)
{
	const struct kept_communicator *kept =
		communicator == NONE ? NULL : &grouping->split->logs[log].communicators.items[communicator];

	/* the same numbers in another process are another one */
	return tally_at(&grouping->groups, kept ? (struct tally_key){{(uint32_t)kept->key, (uint32_t)(kept->key >> 32),
								      kept->is_of_one ? 2 + (uint32_t)log : 1}}
						: (struct tally_key){{0}});
}

static struct split_communicator *communicator_at(struct grouping *grouping, size_t log, uint32_t communicator)
{
	struct tally_entry *known = tally_at(&grouping->by_number, (struct tally_key){{(uint32_t)log, communicator}});
	struct tally_entry *group;

	if (!known->more) {
		group = group_of(grouping, log, communicator);
		if (!group->more) {
			array_push(&grouping->split->communicators,
				   ((struct split_communicator){.log = log, .of = communicator}));
			group->more = grouping->split->communicators.count;
		}
		known->more = group->more;
	}
	return &grouping->split->communicators.items[known->more - 1];
}

static void add_to_communicator(struct grouping *grouping, uint32_t rank, const struct collective_kernel *kernel,
				const struct kernel_split *split)
{
	struct split_communicator *to =
		communicator_at(grouping, grouping->split->ranks.items[rank].log, kernel->communicator);
	uint32_t number = (uint32_t)(to - grouping->split->communicators.items);
	struct tally_entry *count = tally_at(&grouping->counts, (struct tally_key){{number, rank}});

	if (!count->count++)
		array_push(&to->ranks.list, rank);
	if (count->count > to->most)
		to->most = count->count;
	add_to(&to->sum, kernel, split);
	if (kernel->bytes < 0) {
		to->of_unknown_bytes++;
		return;
	}
	to->bytes += (uint64_t)kernel->bytes;
	if (split->lack != SPLIT_KNOWN)
		return;
	to->rated_bytes += (uint64_t)kernel->bytes;
	to->rated_ns += split->transfer_ns;
}

DEFINE_ORDER(most_time_first, struct split_communicator,
	     least_first(a->of == NONE, b->of == NONE) ?: most_first(a->sum.ns, b->sum.ns) ?:
	     least_first(a->log, b->log) ?: least_first(a->of, b->of))

void split_sums_add(struct collective_split *split)
{
	struct grouping grouping = {.split = split};
	struct tally rows = {0}; /* rank, name, line, basis; more: index + 1 */

	for (size_t i = 0; i < split->ranks.count; i++) {
		struct split_rank *rank = &split->ranks.items[i];

		for (size_t k = 0; k < rank->of->kernels.list.count; k++) {
			const struct collective_kernel *kernel = &rank->of->kernels.list.items[k];
			struct tally_entry *entry = tally_at(
				&rows, (struct tally_key){{(uint32_t)i, kernel->name, kernel->line, kernel->basis}});

			finish_kernel(kernel, &rank->splits[k]);
			if (!entry->more) {
				array_push(&split->rows, ((struct split_row){.rank = i,
									     .name = kernel->name,
									     .line = kernel->line,
									     .basis = kernel->basis}));
				entry->more = split->rows.count;
			}
			add_to(&split->rows.items[entry->more - 1].sum, kernel, &rank->splits[k]);
			add_to(&rank->sum, kernel, &rank->splits[k]);
			add_to_communicator(&grouping, (uint32_t)i, kernel, &rank->splits[k]);
		}
	}
	array_sort(&split->communicators, most_time_first);
	tally_free(&grouping.groups);
	tally_free(&grouping.by_number);
	tally_free(&grouping.counts);
	tally_free(&rows);
}
