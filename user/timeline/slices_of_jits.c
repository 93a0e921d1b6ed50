/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compilation by the driver. */
#include "timeline/ids.h"
#include "timeline/parts.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

static void visit_jit(struct visit *visit, uint32_t index)
{
	const struct timeline *timeline = visit->timeline;
	const struct model_jit *jit = &timeline->model->jits[index];
	struct draft draft;

	draft_begin(&draft, TIMELINE_JIT, placed_track(&timeline->placement->jits, index), jit->start_ns, jit->end_ns);
	draft.slice.name.text = jit_name(jit);
	draft_number(&draft, TIMELINE_ARG_CACHE_BYTES, jit->bytes);
	if (jit->call != NONE)
		draft_number(&draft, TIMELINE_ARG_OF_CALL, correlation_of_call(timeline->ids, jit->call));
	visit_slice(visit, &draft.slice);
}

void visit_jits(struct visit *visit)
{
	const struct timeline *timeline = visit->timeline;

	for (uint32_t i = 0; i < timeline->model->jit_count && !visit->ended; i++)
		if (timeline->placement->jits.lane_of[i] != LANE_NONE)
			visit_jit(visit, i);
}
