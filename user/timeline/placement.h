/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which lane everything goes to that may overlap: GPU operations, waits, compilations, NVTX ranges, CUPTI's overhead.
 * One pass over each in its order of start, before any slice is handed over: the tracks have to be known by then.
 */
#ifndef GPUTRACE_TIMELINE_PLACEMENT_H
#define GPUTRACE_TIMELINE_PLACEMENT_H

#include "timeline/lanes.h"
#include "timeline/timeline.h"

/* The lanes of one kind of slices, and who is on which. */
struct placed {
	struct lanes lanes;
	uint32_t *lane_of;    /* by index in the model, LANE_NONE: not in the timeline */
	uint32_t first_track; /* the track of lanes.all.items[0] */
};

struct timeline_placement {
	struct placed operations;  /* key: process, device, stream */
	struct placed syncs;	   /* key: process, device, stream or NONE */
	struct placed jits;	   /* key: process, tid */
	struct placed ranges;	   /* key: thread, domain or NONE, started or not */
	struct placed overheads;   /* key: process, tid */
	uint32_t *first_operation; /* by lane of operations */
	uint32_t *overhead_order;  /* the overheads of the timeline by start; the model has them as they came */
	uint32_t overhead_count;
};

/* After the processes of the timeline are known; counts what it omits. */
struct timeline_placement *timeline_placement_new(struct timeline *timeline);
void timeline_placement_free(struct timeline_placement *placement);

/* The track of something that has one. */
static inline uint32_t placed_track(const struct placed *placed, uint32_t index)
{
	return placed->first_track + placed->lane_of[index];
}

#endif
