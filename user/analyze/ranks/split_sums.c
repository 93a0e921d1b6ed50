/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of a split by rank, and by name and line. */
#include "analyze/ranks/split_sums.h"

#include "base/distance.h"
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

void split_sums_add(struct collective_split *split)
{
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
		}
	}
	tally_free(&rows);
}
