/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls the functions of each placed kind of slices, which are in a file per kind. */
#include "timeline/placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(ROWS_MAX == TIMELINE_ROWS_MAX, "timeline.h says how many");

void timeline_place_part(struct timeline *timeline)
{
	struct timeline_placement *placement = timeline->placement;

#define PLACE(one, many, ...) place_##many(timeline, placement);
	TIMELINE_PLACED(PLACE)
#undef PLACE
}

void timeline_track_label(const struct timeline *timeline, uint32_t index, char *text, size_t size)
{
	const struct timeline_track *track = &timeline->tracks.items[index];

	switch (track->kind) {
	case TIMELINE_TRACK_THREAD:
		snprintf(text, size, "thread %" PRIu32 " (%.200s)", track->tid, track->name);
		break;
	case TIMELINE_TRACK_INTERPRETER:
		snprintf(text, size, "thread %" PRIu32 " collections, imports", track->tid);
		break;
	case TIMELINE_TRACK_PYTHON:
		snprintf(text, size, "thread %" PRIu32 " Python", track->tid);
		break;
	case TIMELINE_TRACK_STEPS:
		snprintf(text, size, "thread %" PRIu32 " steps", track->tid);
		break;
#define LABEL(one, many, time, kind, ...)                                                                              \
	case TIMELINE_TRACK_##kind:                                                                                    \
		label_##many(timeline, track, text, size);                                                             \
		break;
		TIMELINE_PLACED(LABEL)
#undef LABEL
	}
}

struct timeline_placement *timeline_placement_new(void)
{
	return xcalloc(1, sizeof(struct timeline_placement));
}

static void end_placement(struct placed *placed)
{
	slice_rows_free(&placed->rows);
	free(placed->row_of);
	array_free(&placed->tracks);
}

void timeline_placement_free(struct timeline_placement *placement)
{
	if (!placement)
		return;
#define END(one, many, ...) end_placement(&placement->many);
	TIMELINE_PLACED(END)
#undef END
	open_ranges_free(&placement->open_ranges);
	free(placement->range_numbers);
	tally_free(&placement->gpus);
	tally_free(&placement->counters);
	array_free(&placement->natures);
	array_free(&placement->overhead_order);
	array_free(&placement->sample_starts);
	array_free(&placement->known_until);
	free(placement);
}
