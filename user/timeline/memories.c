/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocations and frees of memory, with the total then held of memory allocated since the trace began. */
#include "timeline/ids.h"
#include "timeline/members.h"
#include "timeline/kinds.h"
#include "timeline/tracks.h"
#include "timeline/visit.h"

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		"unknown", "pageable", "pinned", "device", "array", "managed", "device, static", "managed, static",
	};

	return names[kind];
}

void visit_memories(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;
	const struct model *model = timeline->model;
	struct tally *held = &visit->held;
	uint32_t end = in_part_end(&model->memories_in_part, model->memory_count);

	for (uint32_t i = model->memories_in_part.from; i < end && !visit->ended; i++) {
		const struct model_memory *memory = &model->memories[i];
		struct tally_entry *counter;

		if (!timeline_has_process(timeline, memory->process))
			continue;
		counter = tally_at(held, timeline_counter_key(memory));
		if (!memory->released)
			counter->ns += memory->bytes;
		else if (memory->other != NONE) /* else it was allocated before the trace, and is not in the sum */
			counter->ns -= memory->bytes;
		visit_memory(visit,
			     &(struct timeline_memory){
				     .track = memory->call == NONE
						      ? TIMELINE_NONE
						      : timeline->thread_tracks[model->calls[memory->call].thread],
				     .group = timeline->process_groups[memory->process],
				     .counter = (uint32_t)(counter - held->entries), /* in order of appearance */
				     .released = memory->released,
				     .kind = kind_name(memory->kind),
				     .time_ns = memory->time_ns,
				     .address = memory->address,
				     .bytes = memory->bytes,
				     .correlation = correlation_if_shown(timeline->ids, model, memory->call),
				     .held_bytes = counter->ns,
				     .pool_bytes = memory->pool_bytes,
				     .pool_used_bytes = memory->pool_used_bytes,
			     });
	}
}
