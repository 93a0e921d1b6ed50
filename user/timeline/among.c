/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slices and memory of a timeline that shares its file with others. */
#include "timeline/ids.h"
#include "timeline/visit.h"

static uint64_t renumber_flow(struct visit *visit, uint64_t number)
{
	if (number > visit->highest)
		visit->highest = number;
	return number ? visit->timeline->among.first_number + number : 0;
}

void visit_slice_among(struct visit *visit, const struct timeline_slice *slice)
{
	struct timeline_slice there = *slice;

	there.start_ns = timeline_time(visit->timeline, slice->start_ns);
	there.end_ns = timeline_time(visit->timeline, slice->end_ns);
	there.flow_from_ns = timeline_time(visit->timeline, slice->flow_from_ns);
	there.op = renumber_flow(visit, slice->op);
	there.link.number = renumber_flow(visit, slice->link.number);
	there.link.from_ns = timeline_time(visit->timeline, slice->link.from_ns);
	visit->ended = !visit->visitor->slice(visit->visitor->context, &there);
}

void visit_memory_among(struct visit *visit, const struct timeline_memory *memory)
{
	struct timeline_memory there = *memory;

	there.time_ns = timeline_time(visit->timeline, memory->time_ns);
	visit->ended = !visit->visitor->memory(visit->visitor->context, &there);
}

uint64_t visit_numbers_end(const struct visit *visit)
{
	const struct timeline_ids *ids = visit->timeline->ids;
	uint64_t ids_end = ids->first_free + ids->calls + ids->operations + ids->syncs;
	uint64_t ops_end = visit->timeline->among.first_number + visit->highest + 1;

	return ids_end > ops_end ? ids_end : ops_end;
}
