/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lanes for slices that overlap: the first lane that is free takes the slice. */
#include "export/tracks.h"

static uint32_t add_lane(struct tracks *tracks, struct tally_key key, uint32_t first, uint32_t lane)
{
	uint32_t index = (uint32_t)tracks->all.count;
	struct track track = {.key = key, .lane = lane, .first = lane ? first : index, .next_lane = TRACK_NONE};

	array_push(&tracks->all, track);
	return index;
}

uint32_t tracks_place(struct tracks *tracks, struct tally_key key, uint64_t start_ns, uint64_t end_ns)
{
	struct tally_entry *entry = tally_at(&tracks->by_key, key);
	uint32_t at, first;

	if (!entry->more)
		entry->more = add_lane(tracks, key, 0, 0) + 1u;
	first = at = (uint32_t)entry->more - 1;
	while (tracks->all.items[at].last_end_ns > start_ns) {
		uint32_t next = tracks->all.items[at].next_lane, lane = tracks->all.items[at].lane + 1;

		if (next == TRACK_NONE) {
			if (lane >= TRACK_LANES_MAX)
				return TRACK_NONE;
			next = add_lane(tracks, key, first, lane);
			tracks->all.items[at].next_lane = next;
		}
		at = next;
	}
	tracks->all.items[at].last_end_ns = end_ns;
	return at;
}

void tracks_free(struct tracks *tracks)
{
	array_free(&tracks->all);
	tally_free(&tracks->by_key);
}
