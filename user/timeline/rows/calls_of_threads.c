/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/rows/calls_of_threads.h"

#include <stdlib.h>

#include "base/array.h"

void timeline_calls_link(struct timeline_calls *calls, const struct model *model)
{
	uint32_t from = model->calls_in_part.from;

	calls->from = from;
	calls->first = array_reserve(calls->first, sizeof(*calls->first), 0, model->thread_count, &calls->first_room);
	calls->next = array_reserve(calls->next, sizeof(*calls->next), 0, model->call_count - from, &calls->next_room);
	for (uint32_t i = 0; i < model->thread_count; i++)
		calls->first[i] = NONE;
	for (uint32_t i = model->call_count; i-- > from;) {
		uint32_t *first = &calls->first[model->calls[i].thread];

		calls->next[i - from] = *first;
		*first = i;
	}
}

void timeline_calls_free(struct timeline_calls *calls)
{
	free(calls->first);
	free(calls->next);
	*calls = (struct timeline_calls){0};
}
