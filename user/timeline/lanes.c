/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lane that is free takes the slice. */
#include "timeline/lanes.h"

static uint32_t add_lane(struct lanes *lanes, struct tally_key key, uint32_t first, uint32_t number)
{
	uint32_t index = (uint32_t)lanes->all.count;
	struct lane lane = {.key = key, .number = number, .first = number ? first : index, .next = LANE_NONE};

	array_push(&lanes->all, lane);
	return index;
}

uint32_t lanes_reserve(struct lanes *lanes, struct tally_key key)
{
	struct tally_entry *entry = tally_at(&lanes->by_key, key);

	if (!entry->more)
		entry->more = add_lane(lanes, key, 0, 0) + 1u;
	return (uint32_t)entry->more - 1;
}

uint32_t lanes_place(struct lanes *lanes, struct tally_key key, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t first = lanes_reserve(lanes, key), at = first;

	while (lanes->all.items[at].last_end_ns > start_ns) {
		uint32_t next = lanes->all.items[at].next, number = lanes->all.items[at].number + 1;

		if (next == LANE_NONE) {
			if (number >= LANES_MAX)
				return LANE_NONE;
			next = add_lane(lanes, key, first, number);
			lanes->all.items[at].next = next;
		}
		at = next;
	}
	lanes->all.items[at].last_end_ns = end_ns;
	return at;
}

void lanes_end(struct lanes *lanes, uint32_t lane, uint64_t end_ns)
{
	lanes->all.items[lane].last_end_ns = end_ns;
}

uint32_t lanes_first(struct lanes *lanes, struct tally_key key)
{
	const struct tally_entry *entry = tally_at(&lanes->by_key, key);

	return entry->more ? (uint32_t)entry->more - 1 : LANE_NONE;
}

void lanes_free(struct lanes *lanes)
{
	array_free(&lanes->all);
	tally_free(&lanes->by_key);
}
