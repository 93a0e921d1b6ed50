/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/calls_of_threads.h"

#include <stdlib.h>

#include "base/array.h"

struct timeline_calls *timeline_calls_new(const struct model *model)
{
	struct timeline_calls *calls = xcalloc(1, sizeof(*calls));

	calls->first = xmalloc(model->thread_count * sizeof(*calls->first));
	calls->next = xmalloc(model->call_count * sizeof(*calls->next));
	for (uint32_t i = 0; i < model->thread_count; i++)
		calls->first[i] = NONE;
	for (uint32_t i = model->call_count; i-- > 0;) {
		uint32_t *first = &calls->first[model->calls[i].thread];

		calls->next[i] = *first;
		*first = i;
	}
	return calls;
}

void timeline_calls_free(struct timeline_calls *calls)
{
	if (!calls)
		return;
	free(calls->first);
	free(calls->next);
	free(calls);
}
