/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether CUPTI's correlation ids can stay as they are: they are all different, and leave room for those of our own. */
#include "timeline/ids.h"

#include <stdlib.h>

#include "base/array.h"
#include "timeline/members.h"

/* Correlation ids of one process are close together; a wider range is not worth a bitmap (32 MiB). */
#define CORRELATION_RANGE_MAX (1u << 28)

/* Of the calls in the timeline that have an id: the range they span; false: there is none. */
static bool find_range(const struct timeline *timeline, uint32_t *lowest, uint32_t *highest)
{
	const struct model *model = timeline->model;

	*lowest = UINT32_MAX;
	*highest = 0;
	for (uint32_t i = 0; i < model->call_count; i++) {
		uint32_t corr = model->calls[i].corr;

		if (!corr || !timeline_has_call(timeline, &model->calls[i]))
			continue;
		*lowest = corr < *lowest ? corr : *lowest;
		*highest = corr > *highest ? corr : *highest;
	}
	return *highest >= *lowest;
}

static bool are_unique(const struct timeline *timeline, uint32_t lowest, uint32_t highest)
{
	const struct model *model = timeline->model;
	bool unique = true;
	uint64_t *seen;

	if (highest - lowest >= CORRELATION_RANGE_MAX)
		return false;
	seen = xcalloc((highest - lowest) / 64 + 1, sizeof(*seen));
	for (uint32_t i = 0; unique && i < model->call_count; i++) {
		uint32_t corr = model->calls[i].corr, at = corr - lowest;

		if (!corr || !timeline_has_call(timeline, &model->calls[i]))
			continue;
		unique = !(seen[at / 64] >> (at % 64) & 1);
		seen[at / 64] |= 1ull << (at % 64);
	}
	free(seen);
	return unique;
}

struct timeline_ids *timeline_ids_new(const struct timeline *timeline)
{
	struct timeline_ids *ids = xcalloc(1, sizeof(*ids));
	const struct model *model = timeline->model;
	uint32_t lowest, highest;
	bool any = find_range(timeline, &lowest, &highest);

	ids->model = model;
	ids->renumbered = timeline->several || (any && !are_unique(timeline, lowest, highest)) ||
			  (uint64_t)highest + model->call_count + model->gpu_count + model->sync_count > INT32_MAX;
	ids->first_free = ids->renumbered ? 1 : (uint64_t)highest + 1;
	return ids;
}
