/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by the caller whose call needed the code. */
#include "analyze/sums/jit.h"

#include <stdlib.h>

void jit_free(struct jit *jit)
{
	tally_free(&jit->callers);
	free(jit->rows);
}

void jit_add_jit(struct jit *jit, const struct jit_event *event)
{
	const struct model_jit *one = event->jit;
	struct tally_entry *sum =
		tally_at(&jit->callers, (struct tally_key){{event->caller, one->operation, one->entry}});

	sum->ns += one->end_ns - one->start_ns;
	sum->count++;
}

void jit_finish(struct jit *jit, struct lines *lines)
{
	struct tally by_line = tally_by_line(lines, &jit->callers, 0);
	struct tally_entry *sorted = tally_sorted(&by_line, false);

	jit->count = by_line.count;
	jit->rows = xcalloc(jit->count, sizeof(*jit->rows));
	for (size_t i = 0; i < jit->count; i++)
		jit->rows[i] = (struct jit_row){.line = sorted[i].key.part[0],
						.operation = (uint8_t)sorted[i].key.part[1],
						.entry = (uint8_t)sorted[i].key.part[2],
						.ns = sorted[i].ns,
						.count = sorted[i].count};
	free(sorted);
	tally_free(&by_line);
}
