/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by kernel and caller; makes kernels and lines of them at the end. */
#include "analyze/sums/kernels.h"

#include <stdlib.h>

void kernels_free(struct kernels *kernels)
{
	gpu_tally_free(&kernels->callers);
	free(kernels->rows);
}

void kernels_add_gpu(struct kernels *kernels, const struct gpu_event *event)
{
	uint64_t ns = gpu_ns(event->op);
	struct tally_entry *sum;

	kernels->gpu_ns += ns;
	if (event->op->kind != MODEL_KERNEL)
		return;
	sum = gpu_tally_at(&kernels->callers, event->op, (struct tally_key){{event->op->label, event->caller}});
	sum->ns += ns;
	sum->count++;
}

static int by_time(const void *left, const void *right)
{
	const struct kernel_row *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

void kernels_finish(struct kernels *kernels, struct lines *lines)
{
	struct tally by_line = tally_by_line(lines, gpu_tally_all(&kernels->callers), 1);
	struct tally rows = {0}; /* key: name; ns: of the line with most, more: index of the row + 1 */

	kernels->rows = xcalloc(by_line.count, sizeof(*kernels->rows));
	for (size_t i = 0; i < by_line.count; i++) {
		const struct tally_entry *sum = &by_line.entries[i];
		struct tally_entry *entry = tally_at(&rows, (struct tally_key){{sum->key.part[0]}});
		struct kernel_row *row;

		if (!entry->more)
			entry->more = ++kernels->count;
		row = &kernels->rows[entry->more - 1];
		if (!row->count || sum->ns > entry->ns) {
			entry->ns = sum->ns;
			row->line = sum->key.part[1];
		}
		row->name = sum->key.part[0];
		row->ns += sum->ns;
		row->count += sum->count;
	}
	tally_free(&rows);
	tally_free(&by_line);
	qsort(kernels->rows, kernels->count, sizeof(*kernels->rows), by_time);
}
