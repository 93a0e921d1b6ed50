/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts failed calls by caller. */
#include "analyze/sums/failures.h"

#include <stdlib.h>

void failures_free(struct failures *failures)
{
	tally_free(&failures->callers);
	free(failures->rows);
}

void failures_add_call(struct failures *failures, const struct call_event *event)
{
	const struct model_call *call = event->call;

	if (!call_failed(call))
		return;
	failures->calls++;
	failures->launches += call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH;
	tally_at(&failures->callers, (struct tally_key){{(uint32_t)call->result, call->api, event->caller}})->count++;
}

void failures_finish(struct failures *failures, struct lines *lines)
{
	struct tally by_line = tally_by_line(lines, &failures->callers, 2);
	struct tally_entry *sorted = tally_sorted(&by_line, true);

	failures->count = by_line.count;
	failures->rows = xcalloc(failures->count, sizeof(*failures->rows));
	for (size_t i = 0; i < failures->count; i++)
		failures->rows[i] = (struct failure_row){.result = (int32_t)sorted[i].key.part[0],
							 .api = (uint16_t)sorted[i].key.part[1],
							 .line = sorted[i].key.part[2],
							 .count = sorted[i].count};
	free(sorted);
	tally_free(&by_line);
}
